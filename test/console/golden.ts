import { expect } from 'vitest';

/** The screens that are compared as a whole. Every other screen is asserted by what it means. */
const GOLDEN = new Set([
  'overview',
  'metrics',
  'emails',
  'broadcasts',
  'segments',
  'webhooks',
  'email-timeline',
  'email-text',
  'email-attempts',
  'domain-records',
  'automation-graph',
  'automation-run',
  'contact-form',
  'send-form',
  'dns-plan',
  'inbox-threads',
  'inbox-answer',
  'person/approvals',
  'operator/queue',
  'operator/reputation',
  'names/emails',
]);

/** The one size that they are compared at. */
const isGoldenSize = ({ columns, rows }: { columns: number; rows: number }): boolean => columns === 120 && rows === 40;

/**
 * Checks what holds for any screen at any size: no line is wider than the terminal, and no value that is missing stands there as
 * JavaScript writes it. A golden screen is compared with its file in `frames/` too, at 120×40.
 */
export async function checkFrame(
  name: string,
  size: { columns: number; rows: number },
  frame: string,
  normalised: string,
): Promise<void> {
  const lines = frame.split('\n');
  expect(lines.filter((line) => [...line].length > size.columns)).toEqual([]);
  expect(lines.filter((line) => /\bundefined\b|\bNaN\b|\[object |Invalid Date/.test(line))).toEqual([]);
  if (GOLDEN.has(name) && isGoldenSize(size)) await expect(normalised).toMatchFileSnapshot(`frames/${name}.txt`);
}
