import type { World } from '../../platform/world/index.ts';

/** A link is opened again and again, and a hostile body of 2 MB takes long to disarm. */
const PAGES_MAX = 8;
const BYTES_MAX = 64 * 1024 * 1024;

const pagesOf = new WeakMap<World, Map<string, { bytes: Promise<Buffer>; length: number }>>();

/** The page that was made for `key`, or is being made just now, or a new one. Everything it shows must be in the key. */
export function renderedOnce(world: World, key: string, render: () => Promise<string>): Promise<Buffer> {
  const pages = pagesOf.get(world) ?? new Map<string, { bytes: Promise<Buffer>; length: number }>();
  pagesOf.set(world, pages);
  const known = pages.get(key);
  const page = known ?? { bytes: render().then((text) => Buffer.from(text)), length: 0 };
  // Last in the order of the map is the one used last.
  pages.delete(key);
  pages.set(key, page);
  if (!known) {
    const settled = (length: number): void => {
      page.length = length;
      if (length === 0 && pages.get(key) === page) pages.delete(key);
      makeRoom(pages);
    };
    page.bytes.then(
      ({ length }) => settled(length),
      () => settled(0),
    );
  }
  return page.bytes;
}

function makeRoom(pages: Map<string, { length: number }>): void {
  let bytes = [...pages.values()].reduce((sum, { length }) => sum + length, 0);
  for (const [oldest, { length }] of pages) {
    if (pages.size <= PAGES_MAX && bytes <= BYTES_MAX) break;
    pages.delete(oldest);
    bytes -= length;
  }
}
