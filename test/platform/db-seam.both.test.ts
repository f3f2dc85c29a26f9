import { describe } from 'vitest';
import { describeAbandoned, describeSeam } from './db-seam.ts';

describe('the database layer', describeSeam);
describe('a database whose file was replaced', describeAbandoned);
