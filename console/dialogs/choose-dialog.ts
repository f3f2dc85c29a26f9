import { clean } from '../../cli/output/index.ts';
import { faint, fit, inverse } from '../draw/text.ts';
import type { Dialog } from './dialog.ts';

export interface Choice {
  label: string;
  /** Set now. */
  isOn?: boolean;
  choose: () => void;
}

/** One of several, by its number or by what is in hand. */
export class ChooseDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter or its number choose   ↑↓ move   esc leave it';
  #choices: readonly Choice[] = [];
  #at = 0;
  isAsking = true;

  /** Without choices these are being asked for. */
  constructor(title: string, choices?: readonly Choice[]) {
    this.title = title;
    if (choices) this.begin(choices);
  }

  begin(choices: readonly Choice[]): void {
    this.#choices = choices;
    this.isAsking = false;
  }

  draw(width: number, height: number): string[] {
    if (this.isAsking) return [faint('Asking what there is …')];
    const top = Math.max(0, this.#at - height + 1);
    return this.#choices.slice(top, top + height).map(({ label, isOn }, index) => {
      const at = top + index;
      const number = at < 9 ? String(at + 1) : ' ';
      const set = isOn === undefined ? '' : isOn ? '[x] ' : '[ ] ';
      const line = fit(`${at === this.#at ? '›' : ' '} ${number}  ${set}${clean(label)}`, width);
      return at === this.#at ? inverse(line) : line;
    });
  }

  key(key: string): boolean {
    if (key === 'esc' || key === 'q') return false;
    if (key === 'down' || key === 'j') this.#at = Math.min(this.#choices.length - 1, this.#at + 1);
    else if (key === 'up' || key === 'k') this.#at = Math.max(0, this.#at - 1);
    else {
      const chosen = this.#choices[key === 'enter' ? this.#at : /^[1-9]$/.test(key) ? Number(key) - 1 : -1];
      chosen?.choose();
      return chosen === undefined;
    }
    return true;
  }
}
