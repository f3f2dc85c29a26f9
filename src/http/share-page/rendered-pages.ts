import type { World } from '../../platform/world/index.ts';

/** A link is opened again and again, and a hostile body of 2 MB takes a fifth of a second to disarm. */
const PAGES_MAX = 8;
const CHARS_MAX = 64 * 1024 * 1024;

const pagesOf = new WeakMap<World, Map<string, string>>();

/** The page that was made for `key`, or a new one. Everything the page shows must be in the key. */
export async function renderedOnce(world: World, key: string, render: () => Promise<string>): Promise<string> {
  const pages = pagesOf.get(world) ?? new Map<string, string>();
  pagesOf.set(world, pages);
  const page = pages.get(key) ?? (await render());
  // Last in the order of the map is the one used last.
  pages.delete(key);
  pages.set(key, page);
  let chars = [...pages.values()].reduce((sum, { length }) => sum + length, 0);
  for (const [oldest, { length }] of pages) {
    if (pages.size <= PAGES_MAX && chars <= CHARS_MAX) break;
    pages.delete(oldest);
    chars -= length;
  }
  return page;
}
