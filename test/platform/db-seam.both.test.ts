import { describe } from 'vitest';
import { describeAbandoned, describeSeam } from './db-seam.ts';

describe('the seam to the database', describeSeam);
describe('a database whose file was replaced', describeAbandoned);
