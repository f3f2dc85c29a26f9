import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runScenario, type Scenario } from '../rig/scenario.ts';

/** Files of this folder that are not scenarios. */
const OTHERS = /^run|\.test\.ts$/;
const PARTS = 4;

/** Defines the tests of one part of the scenarios: each of `PARTS` files runs its own, so that they run side by side. */
export async function testScenarios(part: number): Promise<void> {
  const files = readdirSync(import.meta.dirname)
    .filter((file) => !OTHERS.test(file))
    .toSorted();
  for (const file of files.filter((_, index) => index % PARTS === part)) {
    const { scenario } = (await import(path.join(import.meta.dirname, file))) as { scenario: Scenario };
    test(`${scenario.title} (${file})`, async () => {
      expect(await runScenario(scenario)).toBe(dedent(scenario.account));
    });
  }
}

const dedent = (text: string): string =>
  text
    .trim()
    .split('\n')
    .map((line) => line.replace(/^ {4}/, ''))
    .join('\n');
