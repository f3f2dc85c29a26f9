import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The short form: every page has to read it, and reading the long one took as long as looking at the page. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Sizes and colors do not depend on each other: each is looked at once. */
export const VIEWS = [
  { view: 'desk-light', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { view: 'phone-dark', viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
] as const;

export async function show(page: Page, { viewport, colorScheme }: (typeof VIEWS)[number]): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
}

/** Pictures the whole page, and tells what stands outside of it and what axe finds. */
export async function findFaults(page: Page, { picture }: { picture: string }): Promise<string[]> {
  await page.evaluate(DRAWN);
  await page.screenshot({ path: picture, fullPage: true });
  const wider = Number(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'));
  const cut = wider > 0 ? [`${wider} pixels stand outside`] : [];
  return [
    ...cut,
    ...(await violations(page)).map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
  ];
}

/**
 * Returns the faults of the open page in each of the views, and takes pictures of them. The page is not loaded again for each:
 * our pages have no script that could read their width.
 */
export async function faultsInEveryView(
  page: Page,
  { name, pictures, also }: { name: string; pictures: string; also?: () => Promise<void> | undefined },
): Promise<string[]> {
  const found: string[] = [];
  for (const view of VIEWS) {
    await show(page, view);
    const where = `${name}-${view.view}`;
    const faults = await findFaults(page, { picture: path.join(pictures, `${where}.png`) });
    found.push(...faults.map((fault) => `${where}: ${fault}`));
    await also?.();
  }
  return found;
}

/** Runs axe in the page. The script is the test's own, exempt from the policy that lets the page run nothing. */
export async function violations(page: Page): Promise<AxeResults['violations']> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE);
  const options = { runOnly: RULES, resultTypes: ['violations'], iframes: false };
  return ((await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults).violations;
}

/** Its size and its colors are those that were asked for last. */
const DRAWN = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';
