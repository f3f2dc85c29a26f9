import type { CallOf, OperationId } from '../../cli/client/index.ts';
import type { Report } from '../../cli/families/index.ts';
import { faint } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';
import { TableBody } from './table-body.ts';

/** Rows that are made of one answer. */
export class ReportScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #report: Report;
  readonly #body: TableBody<object>;
  #rows: readonly object[] | undefined;
  #signal = AbortSignal.abort();
  #fault = '';

  constructor(host: Host, report: Report, title: string) {
    this.#host = host;
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
  draw = (size: Size): string[] =>
    this.#rows ? this.#body.draw(this.#host.terminal, this.#rows, size) : ['', faint('  Loading …')];
  key = (key: string): boolean => this.#body.key(key, this.#rows ?? []);
  keys = (): readonly (readonly [string, string])[] => [];
  offers = (): readonly Offer[] => [];
  copy = (): string | undefined => undefined;
}
