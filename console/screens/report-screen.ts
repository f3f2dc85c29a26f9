import type { CallOf, OperationId } from '../../cli/client/index.ts';
import type { Family, Report } from '../../cli/families/index.ts';
import { clean } from '../../cli/output/index.ts';
import { doingsOf } from '../catalog.ts';
import { faint, fit } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';
import { TableBody } from './table-body.ts';

/** Rows that are made of one answer. */
export class ReportScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #family: Family;
  readonly #report: Report;
  readonly #body: TableBody<object>;
  #rows: readonly object[] | undefined;
  #signal = AbortSignal.abort();
  #fault = '';

  /** The whole in a sentence. */
  #told = '';

  constructor(host: Host, { family, report }: { family: Family; report: Report }, title: string) {
    this.#host = host;
    this.#family = family;
    this.#report = report;
    this.title = title;
    this.#body = new TableBody(report.columns, (row) => String(this.#rows?.indexOf(row)));
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(
      signal,
      (stop) => this.#load(stop),
      (fault) => this.#tell(fault),
    );
  }

  async #load(signal: AbortSignal): Promise<void> {
    const answer = await this.#host.client.call(this.#report.operation, {} as CallOf<OperationId>, signal);
    this.#rows = this.#report.rows(answer as never);
    this.#told = clean(this.#report.tell?.(answer as never) ?? '');
    this.#host.changed();
  }

  #tell(fault: string): void {
    if (fault !== this.#fault) this.#host.changed();
    this.#fault = fault;
  }

  refresh = (): void =>
    void tried(
      this.#signal,
      (signal) => this.#load(signal),
      (fault) => this.#tell(fault),
    );
  note = (): string => this.#fault;
  draw({ columns, rows }: Size): string[] {
    if (!this.#rows) return ['', faint('  Loading …')];
    const told = this.#told === '' ? [] : [fit(`  ${this.#told}`, columns), ''];
    if (this.#rows.length === 0) return ['', ...told];
    return [...told, ...this.#body.draw(this.#host.terminal, this.#rows, { columns, rows: rows - told.length })];
  }

  key = (key: string): boolean => this.#body.key(key, this.#rows ?? []);
  keys = (): readonly (readonly [string, string])[] => [];

  offers(): readonly Offer[] {
    const { given } = this.#report;
    const row = this.#body.row(this.#rows ?? []);
    if (!given) return [];
    return [{ doings: doingsOf(this.#family, [], false), paths: [{}], given: row ? given(row as never) : {} }];
  }

  copy = (): string | undefined => undefined;
}
