import { testScenarios } from './run.ts';

await testScenarios(0);
