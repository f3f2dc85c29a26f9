/** Whether the content that a key acts on is loading or unavailable. Undefined when it is loaded. */
export type Awaited = 'on its way' | 'not to be had' | undefined;

interface Keyboard {
  /** The screen or the dialog that keys are for. */
  target: () => object | undefined;
  /** Returns whether the content that this key acts on is loaded. */
  awaited: (key: string) => Awaited;
  /** Returns whether this key needs no loaded content. */
  isFree: (key: string) => boolean;
  obey: (key: string) => void;
  say: (text: string) => void;
}

/** More than a user types ahead: further keys come from a key that is held down. */
const KEYS_MAX = 32;

/** Keys that are pressed before the content that they act on is loaded. They are handled in order once it is. */
export class WaitingKeys {
  readonly #keyboard: Keyboard;
  #keys: string[] = [];
  #for: object | undefined;
  #isObeying = false;

  constructor(keyboard: Keyboard) {
    this.#keyboard = keyboard;
  }

  /**
   * Returns whether the key waits. A key that needs no loaded content is handled at once, unless keys before it wait.
   */
  take(key: string): boolean {
    const { awaited, isFree, target } = this.#keyboard;
    const isFirst = this.#keys.length === 0;
    if (isFirst && (awaited(key) !== 'on its way' || isFree(key))) return false;
    if (key === 'esc') this.#keys = [];
    else if (this.#keys.length < KEYS_MAX) this.#keys.push(key);
    this.#for = target();
    this.#showWaiting();
    return true;
  }

  #showWaiting(): void {
    const count = this.#keys.length;
    const [keys, them] = count === 1 ? ['1 key waits', 'it'] : [`${count} keys wait`, 'them'];
    this.#keyboard.say(count === 0 ? '' : `${keys} for the screen to load; esc drops ${them}.`);
  }

  /**
   * Handles the keys whose content is loaded. If it is gone or could not be loaded, the keys are dropped: handling them
   * later would be a surprise.
   */
  obey(): void {
    if (this.#isObeying) return;
    const { target, awaited, obey, say } = this.#keyboard;
    this.#isObeying = true;
    try {
      for (let [key] = this.#keys; key !== undefined; [key] = this.#keys) {
        const state = target() === this.#for ? awaited(key) : 'not to be had';
        if (state === 'on its way') return;
        say('');
        this.#keys = state === undefined ? this.#keys.slice(1) : [];
        if (state === undefined) obey(key);
        // The keys that follow act on what this key has opened.
        this.#for = target();
      }
    } finally {
      this.#isObeying = false;
    }
  }
}
