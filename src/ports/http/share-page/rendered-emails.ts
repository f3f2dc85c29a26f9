import type { World } from '../../../platform/world/index.ts';
import type { RenderedEmail } from './rendered-email.ts';

/** Rendered emails that are kept: links are opened again and again, and a hostile body of 2 MB becomes one of twelve. */
const EMAILS_MAX = 256;
const BYTES_MAX = 64 * 1024 * 1024;
/** Renderings that may wait for the one under way; further requests are refused, to be repeated later. */
const WAITING_MAX = 16;

interface Entry {
  rendered: Promise<RenderedEmail>;
  bytes: number;
}

interface Kept {
  entries: Map<string, Entry>;
  line: Promise<unknown>;
  waiting: number;
}

const keptOf = new WeakMap<World, Kept>();

/**
 * The rendering of the email, whether done, under way or queued: large ones are rendered one after the other, since
 * they can be requested without a key. Undefined when too many wait already.
 */
export function renderedOnce(
  world: World,
  email: { id: string; isLarge: boolean },
  render: () => Promise<RenderedEmail>,
): Promise<RenderedEmail> | undefined {
  const kept = keptOf.get(world) ?? { entries: new Map<string, Entry>(), line: Promise.resolve(), waiting: 0 };
  keptOf.set(world, kept);
  const { entries } = kept;
  const known = entries.get(email.id);
  if (!known && email.isLarge && kept.waiting > WAITING_MAX) return undefined;
  const entry = known ?? { rendered: email.isLarge ? inLine(kept, render) : render(), bytes: 0 };
  // Keeps the map in the order of use, the latest last.
  entries.delete(email.id);
  entries.set(email.id, entry);
  if (!known) {
    entry.rendered.then(
      ({ bytes }) => {
        entry.bytes = bytes;
        makeRoom(entries);
      },
      () => {
        if (entries.get(email.id) === entry) entries.delete(email.id);
      },
    );
  }
  return entry.rendered;
}

/** `waiting` includes the rendering under way. */
function inLine<T>(kept: Kept, work: () => Promise<T>): Promise<T> {
  kept.waiting++;
  const done = kept.line.then(work);
  const leave = (): void => void kept.waiting--;
  kept.line = done.then(leave, leave);
  return done;
}

function makeRoom(entries: Map<string, Entry>): void {
  let bytes = [...entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
  for (const [oldest, entry] of entries) {
    if (entries.size <= EMAILS_MAX && bytes <= BYTES_MAX) break;
    entries.delete(oldest);
    bytes -= entry.bytes;
  }
}
