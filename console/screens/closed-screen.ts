import { wrap } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';

/** A screen that the credential in use does not open: it says what does, and asks for nothing but whether a lost server is back. */
export class ClosedScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #says: string;
  #signal = AbortSignal.abort();

  constructor(host: Host, title: string, says: string) {
    this.#host = host;
    this.title = title;
    this.#says = says;
  }

  readonly #following = {
    load: async (signal: AbortSignal): Promise<void> => {
      if (this.#host.lostSince !== undefined) await this.#host.client.call('getHealth', {}, signal);
    },
    // The first line says it.
    tell: (): void => undefined,
  };

  note(): string {
    return '';
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, this.#following);
  }

  refresh(): void {
    void tried(this.#host, this.#signal, this.#following);
  }

  draw({ columns }: Size): string[] {
    return ['', ...wrap(`  ${this.#says}`, columns - 2)];
  }

  key(): boolean {
    return false;
  }

  keys(): readonly (readonly [string, string])[] {
    return [];
  }

  offers(): readonly Offer[] {
    return [];
  }

  copy(): string | undefined {
    return undefined;
  }
}
