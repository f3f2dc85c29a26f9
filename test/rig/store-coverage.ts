// Setup file of the project `pg`: records which functions of stores its test files run on PostgreSQL (`stores-on-postgres.ts`).
import { afterAll } from 'vitest';
import { writeStoreFunctions } from './function-coverage.ts';

afterAll(() => writeStoreFunctions());
