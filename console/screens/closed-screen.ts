import { wrap } from '../draw/text.ts';
import type { Offer, Screen, Size } from './screen.ts';

/** A screen that the credential in use does not open: it says what does, and asks for nothing. */
export class ClosedScreen implements Screen {
  readonly title: string;
  readonly #says: string;

  constructor(title: string, says: string) {
    this.title = title;
    this.#says = says;
  }

  note(): string {
    return '';
  }

  start(): void {}

  refresh(): void {}

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
