import { listOfAdvice, type Advice, type CallOf, type OperationId } from '../../cli/client/index.ts';
import type { Family, Report } from '../../cli/families/index.ts';
import { clean, commandsIn } from '../../cli/output/index.ts';
import { listActions } from '../catalog.ts';
import { faint, fit } from '../draw/text.ts';
import { ListScreen } from './list-screen.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';
import { rowScreen } from './item-screen.ts';
import { Preview } from './preview.ts';
import type { Awaited } from '../waiting-keys.ts';
import { SORT_KEYS, TableBody } from './table-body.ts';

type Given = Readonly<Record<string, string>>;

/** Rows that are made from one response. */
export class ReportScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #family: Family;
  readonly #report: Report;
  readonly #body: TableBody<object>;
  readonly #preview: Preview<object>;
  #rows: readonly object[] | undefined;
  #signal = AbortSignal.abort();
  #fault = '';

  /** The whole in a sentence. */
  #told = '';
  #advices: readonly Advice[] = [];

  constructor(host: Host, { family, report }: { family: Family; report: Report }, title: string) {
    this.#host = host;
    this.#family = family;
    this.#report = report;
    this.title = title;
    const toId = (row: object): string => String(this.#rows?.indexOf(row));
    this.#body = new TableBody(report.columns, toId);
    this.#preview = new Preview(
      (row) => JSON.stringify(this.#givenBy(row) ?? toId(row)),
      (row) => this.#createList(this.#givenBy(row)) ?? rowScreen(host, report.columns, row),
    );
  }

  /** Shown only if a row has more than fits in a line of a table. */
  beside = (isShown: boolean): Screen | undefined => {
    const hasMore = this.#report.given !== undefined || this.#report.columns.some(({ kind }) => kind === 'long');
    return this.#preview.show(isShown && hasMore ? this.#body.row(this.#shown) : undefined, this.#signal);
  };

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, this.#following);
  }

  readonly #following = {
    load: (signal: AbortSignal): Promise<void> => this.#load(signal),
    tell: (fault: string): void => this.#setFault(fault),
  };

  async #load(signal: AbortSignal): Promise<void> {
    const answer = await this.#host.client.call(this.#report.operation, {} as CallOf<OperationId>, signal);
    this.#rows = this.#report.rows(answer as never, commandsIn(this.#host.speaker()));
    this.#told = clean(this.#report.describe?.(answer as never) ?? '');
    this.#advices = listOfAdvice(this.#report.hint?.(answer as never));
    this.#host.changed();
  }

  get #shown(): readonly object[] {
    return this.#body.ordered(this.#rows ?? []);
  }

  #setFault(fault: string): void {
    const isNew = fault !== this.#fault;
    this.#fault = fault;
    if (isNew) this.#host.changed();
  }

  refresh = (): void => void tried(this.#host, this.#signal, this.#following);
  note = (): string => this.#fault || this.#body.place(this.#shown);
  draw({ columns, rows, ...around }: Size): string[] {
    if (!this.#rows) return ['', faint('  Loading …')];
    const advices = this.#advices.map(this.#host.speaker()).filter((said) => said !== undefined);
    const lines = [this.#told, ...advices].filter((line) => line !== '').map((line) => fit(`  ${line}`, columns));
    const told = lines.length === 0 ? [] : [...lines, ''];
    if (this.#rows.length === 0) return ['', ...told];
    return [
      ...told,
      ...this.#body.draw(this.#host.terminal, this.#shown, { columns, rows: rows - told.length, ...around }),
    ];
  }

  keys = (): readonly (readonly [string, string])[] => [
    ...(this.#given() ? [['enter', 'list it'] as const] : []),
    ...SORT_KEYS,
  ];

  awaits(key: string): Awaited {
    if (this.#rows || key === 'left' || key === 'h') return undefined;
    return this.#fault === '' ? 'on its way' : 'not to be had';
  }

  key(key: string): boolean {
    const list = key === 'enter' ? this.#createList(this.#given()) : undefined;
    if (!list) return this.#preview.key(key) || this.#body.key(key, this.#shown);
    this.#host.open(list);
    return true;
  }

  #createList(narrowed: Given | undefined): ListScreen | undefined {
    const { list } = this.#family;
    if (!list || !narrowed) return undefined;
    const title = clean(Object.values(narrowed).join(' '));
    return new ListScreen(this.#host, { family: this.#family, list, path: {}, title, narrowed });
  }

  /** Returns the item of the selected row, in the parameters of the list and of forms. */
  #given(): Given | undefined {
    const row = this.#body.row(this.#shown);
    return row && this.#givenBy(row);
  }

  #givenBy = (row: object): Given | undefined => this.#report.given?.(row as never);

  offers(): readonly Offer[] {
    if (!this.#report.given) return [];
    return [{ actions: listActions(this.#family, [], false), paths: [{}], given: this.#given() ?? {} }];
  }

  copy = (): string | undefined => Object.values(this.#given() ?? {})[0];
}
