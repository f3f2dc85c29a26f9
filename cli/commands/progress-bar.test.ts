import { expect, test } from 'vitest';
import { progressBar } from './progress-bar.ts';

test('the progress bar fills from empty to full', () => {
  expect(progressBar(0, 40, 'email.sent', 80)).toBe(`[${' '.repeat(24)}] 0/40  email.sent`);
  expect(progressBar(10, 40, '', 80)).toBe(`[${'#'.repeat(6)}${' '.repeat(18)}] 10/40  `);
  expect(progressBar(40, 40, '', 80)).toBe(`[${'#'.repeat(24)}] 40/40  `);
  expect(progressBar(0, 0, '', 80)).toContain('#'.repeat(24));
});

test('the progress bar never reaches the edge of the terminal, where it could not be overwritten', () => {
  expect(progressBar(1, 2, 'x'.repeat(100), 40)).toHaveLength(39);
});
