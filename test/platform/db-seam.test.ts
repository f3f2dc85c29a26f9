import { describe } from 'vitest';
import { describeSeam } from './db-seam.ts';

describe('the seam to the database', describeSeam);
