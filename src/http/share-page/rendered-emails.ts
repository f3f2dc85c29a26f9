import type { World } from '../../platform/world/index.ts';
import type { RenderedEmail } from './rendered-email.ts';

/** A link is opened again and again, and a hostile body of 2 MB becomes one of twelve. */
const EMAILS_MAX = 256;
const BYTES_MAX = 64 * 1024 * 1024;
/** Renderings that wait for the one under way; whoever opens one more is asked to come back. */
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
 * What was rendered of the email, or is being rendered just now, or will be: large ones are rendered one after the
 * other, since nobody needs a key to ask for them. Undefined when too many wait already.
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
  // Last in the order of the map is the one used last.
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

/** `waiting` counts the one under way as well. */
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
