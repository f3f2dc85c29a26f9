import type { AnswerOf, Client } from '../../cli/client/index.ts';
import type { Field, List } from '../../cli/families/index.ts';

type Segment = AnswerOf<'listSegments'>['data'][number];

/** Counting goes through all contacts: once in a while is enough. */
const FRESH_MS = 60_000;
const PAGE = 100;

/** Columns of a list whose values are not read with it each time, but once in a while. */
export interface MoreColumns {
  /** The columns of the list, with these among them. */
  fields: readonly Field<never>[];
  ask: (rows: readonly { id: string }[], signal: AbortSignal) => Promise<void>;
}

export const moreColumnsOf = (list: List, client: Client, changed: () => void): MoreColumns | undefined =>
  list.operation === 'listSegments' ? new SegmentCounts(list.columns, client, changed) : undefined;

/** How many contacts are in each segment that is listed: a question a page. */
class SegmentCounts implements MoreColumns {
  readonly fields: readonly Field<never>[];
  readonly #client: Client;
  readonly #changed: () => void;
  readonly #known = new Map<string, { segment: Segment; at: number }>();
  #isAsking = false;

  constructor(columns: readonly Field<never>[], client: Client, changed: () => void) {
    this.#client = client;
    this.#changed = changed;
    this.fields = columns.map((field) => {
      const { value } = field as Field<Segment>;
      return value ? { ...field, value: ({ id }: Segment) => this.#valueOf(value, id) } : field;
    });
  }

  #valueOf(value: NonNullable<Field<Segment>['value']>, id: string): unknown {
    const known = this.#known.get(id);
    return known && value(known.segment);
  }

  #isFresh(id: string): boolean {
    const known = this.#known.get(id);
    return known !== undefined && Date.now() - known.at < FRESH_MS;
  }

  async ask(rows: readonly { id: string }[], signal: AbortSignal): Promise<void> {
    if (this.#isAsking || rows.every(({ id }) => this.#isFresh(id))) return;
    this.#isAsking = true;
    try {
      for (let after: string | undefined; ;) {
        const query = { include: 'counts', limit: PAGE, after } as const;
        const { data, has_more: hasMore } = await this.#client.call('listSegments', { query }, signal);
        const at = Date.now();
        for (const segment of data) this.#known.set(segment.id, { segment, at });
        this.#changed();
        after = data.at(-1)?.id;
        if (!hasMore || after === undefined || rows.every(({ id }) => this.#isFresh(id))) return;
      }
    } catch {
      // The list says itself what is wrong with the server.
    } finally {
      this.#isAsking = false;
    }
  }
}
