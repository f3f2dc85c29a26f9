import { refuse, type FieldFault, type Refusal } from '../../../platform/refusal/index.ts';

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isOneOf = <T extends string>(all: readonly T[], value: unknown): value is T =>
  (all as readonly unknown[]).includes(value);

const SHOWN = 5;
const CHARS_SHOWN = 60;

/** The first few, each at its beginning: they are the caller's own words. */
export const listed = (names: readonly string[]): string =>
  names
    .slice(0, SHOWN)
    .map((name) => (name.length > CHARS_SHOWN ? `${name.slice(0, CHARS_SHOWN)}…` : name))
    .join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '');

/** What is wrong with a graph: one entry a step, under its key, with everything that is wrong with it. */
export class Faults {
  readonly #said = new Map<string, string[]>();
  readonly #unread = new Set<string>();

  /** Of a place that has no key. */
  of(path: string, says: string): [] {
    this.#said.set(path, [...(this.#said.get(path) ?? []), says]);
    return [];
  }

  step(key: string, says: string): [] {
    return this.of(`steps.${key}`, says);
  }

  /** Nothing more is to be said of this step's config. */
  leaveConfig(key: string): void {
    this.#unread.add(key);
  }

  mayReadConfig(key: string): boolean {
    return !this.#unread.has(key);
  }

  refusal(): Refusal | undefined {
    const errors: FieldFault[] = [...this.#said].map(([path, says]) => ({
      path,
      message: `${path} ${says.join('; ')}.`,
    }));
    const [first] = errors;
    if (!first) return undefined;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    return refuse('validation_error', { status: 422, say: `${first.message}${more}`, errors });
  }
}
