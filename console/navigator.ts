import { isSession, NoAnswer, type Client } from '../cli/client/index.ts';
import { clean, type KeyInUse, type FormatAdvice, type Terminal } from '../cli/output/index.ts';
import { createConsoleFormatter, type At } from './advice.ts';
import { listPlaces, type BoundAction, type Section } from './catalog.ts';
import { entriesFor, filterCompletions, readCommand, History, Prompt, type Command } from './prompt.ts';
import { inOneLine, MenuDialog, TextDialog, type Dialog } from './dialogs/dialog.ts';
import type { FormDialog } from './dialogs/form-dialog.ts';
import { ActionRunner, type Stage } from './action-runner.ts';
import { Faults, LOOKING, watchClient } from './faults.ts';
import { helpText } from './help.ts';
import { hasOuter, type Host, type Offer, type Screen } from './screens/screen.ts';
import { ListScreen } from './screens/list-screen.ts';
import { createScreen } from './screens/create-screen.ts';
import { WaitingKeys, type Awaited } from './waiting-keys.ts';

interface Outside {
  client: Client;
  /** The server and the key in use; a development server may have moved. */
  target: () => KeyInUse;
  terminal: Terminal;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The sections that are available, with the initial one first. */
  sections: readonly Section[];
  /** Prepares the terminal for another program while the work lasts. */
  lend?: (work: () => Promise<void>) => Promise<void>;
  /** Puts a text on the clipboard of the user's terminal. */
  toClipboard: (text: string) => void;
  quit: () => void;
}

const ID = /^([0-9a-f]{8}-[0-9a-f-]{27}|[a-z]+_[0-9a-f]{16,})$/;

/** These need nothing that a screen shows. */
const AT_ONCE = /^([0-9:/?rq]|esc)$/;

/** The end of an id, as tables show it. */
const END_OF_ID = /^[0-9a-f]{8}$/;

/**
 * The state of the console: screens on a stack, at most one dialog or prompt over them, and the handling of every key.
 */
export class Navigator implements Host, Stage {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly env: Outside['env'];
  readonly faults: Faults;
  readonly sections: readonly Section[];
  readonly #outside: Outside;
  readonly #listeners = new Set<() => void>();
  #version = 0;
  #stack: Screen[] = [];
  #section: Section | undefined;
  #stop = new AbortController();
  #isWide = false;
  #stopOuter = new AbortController();
  readonly #runner = new ActionRunner(this);
  readonly #waiting = new WaitingKeys({
    target: () => this.dialog ?? this.screen,
    awaited: (key) => this.#awaited(key),
    isFree: (key) => this.#isFree(key),
    obey: (key) => this.faults.orInWords(() => this.#dispatch(key), this.say),
    say: (text) => void (this.message = text),
  });
  /** Removes the message about a server that did not respond. */
  #unsay: () => void = () => undefined;
  /** Stops drawing and reading keys while the work lasts; set by what draws. */
  suspend: (work: () => Promise<void>) => Promise<void> = (work) => work();
  dialog: Dialog | undefined;
  prompt: Prompt | undefined;
  /** The lines typed before, by the sign of their prompt. */
  readonly #typed = { ':': new History(), '/': new History() };
  message = '';
  /** The time since when the server does not respond. */
  lostSince: number | undefined;

  constructor(outside: Outside) {
    this.#outside = outside;
    this.terminal = outside.terminal;
    this.env = outside.env;
    this.sections = outside.sections;
    const { version, env, target: key } = outside;
    this.faults = new Faults({ version, env, key, onReady: () => this.#updateMessage(), say: () => this.speaker() });
    this.client = watchClient(outside.client, {
      heard: (operation, answer) => {
        if (answer) this.faults.heard(operation, answer);
        this.#unsay();
        this.#unsay = () => undefined;
        this.#heard(undefined);
      },
      silent: (since = Date.now()) => this.#heard(this.lostSince ?? since),
    });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  version = (): number => this.#version;

  changed = (): void => {
    this.#waiting.obey();
    this.#version++;
    for (const listener of this.#listeners) listener();
  };

  #heard(lostSince: number | undefined): void {
    if (lostSince === this.lostSince) return;
    this.lostSince = lostSince;
    this.changed();
  }

  get screens(): readonly Screen[] {
    return this.#stack;
  }

  get screen(): Screen | undefined {
    return this.#stack.at(-1);
  }

  get sectionName(): string {
    return this.#section?.name ?? '';
  }

  say = (text: string): void => {
    this.message = clean(text);
    this.changed();
  };

  get isPerson(): boolean {
    return isSession(this.#outside.target().apiKey);
  }

  speaker = (at?: At): FormatAdvice => createConsoleFormatter({ sections: this.sections, actions: this.actions, at });

  sayFault = (error: unknown, form?: FormDialog): void => {
    const text = clean(this.faults.inWords(error, form?.inItsWords));
    this.say(form ? '' : text);
    form?.refuse(text);
    if (text === LOOKING) void this.faults.ready(error).then(() => this.sayFault(error, form));
    // The message about a request that may have been executed stays: it has to be checked even when the server is back.
    if (!(error instanceof NoAnswer) || error.isInDoubt) return;
    this.#unsay = () => {
      if (form) form.takeBack(text);
      else if (this.message === text) this.message = '';
      this.changed();
    };
  };

  /** The cause is known by now. */
  #updateMessage(): void {
    if (this.message === LOOKING) this.message = this.faults.waiting();
    this.changed();
  }

  begin = (bound: BoundAction, offer: Offer): void => this.#runner.begin(bound, offer);

  get left(): AbortSignal {
    return this.#stop.signal;
  }

  lendTerminal = (work: () => Promise<void>): Promise<void> =>
    this.suspend(() => (this.#outside.lend ?? ((lent) => lent()))(work));

  open = (screen: Screen): void => this.#show([...this.#stack, screen]);

  openInstead = (screen: Screen): void => this.#show([...this.#stack.slice(0, -1), screen]);

  close(): void {
    this.#stop.abort();
    this.#runner.stop();
  }

  /** Cancels whatever the former screen waits for. */
  #show(stack: Screen[]): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#stack = stack;
    this.screen?.start(this.#stop.signal);
    this.#followOuter();
    this.changed();
  }

  /** Set when the list that the open item comes from is visible next to it: then the list is refreshed too. */
  set isWide(isWide: boolean) {
    if (isWide === this.#isWide) return;
    this.#isWide = isWide;
    this.#followOuter();
  }

  #followOuter(): void {
    this.#stopOuter.abort();
    const outer = this.#stack.at(-2);
    if (!this.#isWide || !hasOuter(this.screen, outer)) return;
    this.#stopOuter = new AbortController();
    outer.start(AbortSignal.any([this.#stop.signal, this.#stopOuter.signal]));
  }

  enter(section: Section, rest = ''): void {
    this.#section = section;
    const screen = createScreen(this, section);
    if (screen instanceof ListScreen && ID.test(rest)) {
      this.#show([screen]);
      return screen.openById(rest);
    }
    if (screen instanceof ListScreen && END_OF_ID.test(rest)) {
      this.#show([screen]);
      return screen.openByEnd(rest);
    }
    if (rest !== '') this.#applyFilter(screen, rest);
    this.#show([screen]);
  }

  #applyFilter(screen: Screen | undefined, text: string): void {
    try {
      if (screen?.filter) screen.filter.apply(text);
      else this.say('This screen has no filter.');
    } catch (error) {
      this.#ask('/', text, clean((error as Error).message));
    }
  }

  typeAgain = (filter: string, fault: unknown): void => {
    const said = clean(this.faults.inWords(fault));
    // Does not interrupt a user who has gone on to something else.
    if (this.dialog || this.prompt) return this.say(said);
    this.#ask('/', filter, said);
    this.changed();
  };

  key(key: string): void {
    if (key === 'ctrl-c') return this.#outside.quit();
    this.faults.orInWords(() => void (this.#waiting.take(key) || this.#dispatch(key)), this.say);
    this.changed();
  }

  /** While the server does not respond, keys do not wait: nobody would remember by then what was meant. */
  #awaited(key: string): Awaited {
    const awaited = this.dialog ? this.dialog.isAsking && 'on its way' : !this.prompt && this.screen?.awaits?.(key);
    return awaited && this.lostSince !== undefined ? 'not to be had' : awaited || undefined;
  }

  #isFree(key: string): boolean {
    if (this.dialog) return key === 'esc';
    if (this.screen?.own?.has(key)) return false;
    return AT_ONCE.test(key) || this.#offeredActions().some(({ bound }) => bound.key === key);
  }

  paste(text: string): void {
    if (this.prompt) this.prompt.insert(inOneLine(text));
    else this.dialog?.paste?.(text);
    this.changed();
  }

  #dispatch(key: string): void {
    this.message = '';
    if (this.#runner.isBusy && key === 'esc') return this.#runner.stop();
    if (this.dialog) return this.#keyOfDialog(this.dialog, key);
    if (this.prompt) return this.#keyOfPrompt(this.prompt, key);
    if (this.screen?.own?.has(key) && this.screen.key(key)) return;
    if (this.#keyOfAll(key) || this.screen?.key(key)) return;
    const found = this.#offeredActions().find(({ bound }) => bound.key === key);
    if (found) return this.#runner.begin(found.bound, found.offer);
    if (this.#explainWithheld((bound) => bound.key === key)) return;
    if (key === 'left' || key === 'h') return this.back();
  }

  #keyOfDialog(dialog: Dialog, key: string): void {
    if (key === 'y' && dialog.copy?.() !== undefined) return this.#copy(dialog.copy());
    // A key may open another dialog, which stays open.
    if (!dialog.key(key) && this.dialog === dialog) this.dialog = undefined;
  }

  #keyOfAll(key: string): boolean {
    const at = key === '0' ? 9 : /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
    const section = this.sections[at];
    if (section) this.enter(section);
    else if (key === ':') this.#ask(':', '');
    else if (key === '/' && this.screen?.filter) this.#ask('/', '');
    else if (key === '?') this.dialog = this.#help();
    else if (key === 'r') this.screen?.refresh();
    else if (key === 'y') this.#copy(this.screen?.copy());
    else if (key === 'x') this.#menu();
    else if (key === 'esc') this.#escape();
    else if (key === 'q') this.back(true);
    else return false;
    return true;
  }

  #ask(sign: Prompt['sign'], text: string, fault = ''): void {
    const names = this.screen?.filter?.names ?? {};
    const offered =
      sign === ':'
        ? { entries: (typed: string) => entriesFor(typed, this.sections, this.actions) }
        : { completions: (typed: string) => filterCompletions(typed, names) };
    this.prompt = new Prompt(sign, { text, fault, history: this.#typed[sign], ...offered });
  }

  #help(): Dialog {
    const own = this.screen?.keys() ?? [];
    const { actions, sections } = this;
    return new TextDialog('Keys', (width) => helpText(own, actions, sections, width));
  }

  #escape(): void {
    if (this.screen?.unmark?.()) return;
    const filter = this.screen?.filter;
    if (filter && filter.text !== '') return filter.apply('');
    this.back();
  }

  back(mayQuit = false): void {
    if (this.#stack.length > 1) return this.#show(this.#stack.slice(0, -1));
    if (mayQuit) this.#outside.quit();
  }

  #copy(text: string | undefined): void {
    if (text === undefined) return this.say('There is nothing to copy here.');
    this.#outside.toClipboard(text);
    const start = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    this.say(`Copied to the clipboard, where the terminal allows it: ${start}`);
  }

  #offeredActions(): { bound: BoundAction; offer: Offer }[] {
    return (this.screen?.offers() ?? []).flatMap((offer) => offer.actions.map((bound) => ({ bound, offer })));
  }

  /** Says why an action is not offered here; returns whether there is such an action. */
  #explainWithheld(isMeant: (bound: BoundAction) => boolean): boolean {
    const found = (this.screen?.offers() ?? []).flatMap(({ withheld = [] }) => withheld).find(isMeant);
    if (found) this.say(`${found.label}: ${found.action.only?.says ?? ''}.`);
    return found !== undefined;
  }

  /** The actions that the screen offers, for its last line. */
  get actions(): readonly BoundAction[] {
    return this.#offeredActions().map(({ bound }) => bound);
  }

  #menu(): void {
    const all = this.#offeredActions();
    if (all.length === 0) return this.say('There are no actions here.');
    this.dialog = new MenuDialog(
      all.map(({ bound }) => bound),
      (bound) => {
        const found = all.find((one) => one.bound === bound);
        if (found) this.#runner.begin(bound, found.offer);
      },
    );
  }

  #keyOfPrompt(prompt: Prompt, key: string): void {
    const how = prompt.key(key);
    if (how === 'goes on') return;
    this.prompt = undefined;
    if (how === 'left') return;
    if (prompt.sign === '/') return this.#applyFilter(this.screen, prompt.line.text);
    const line = prompt.line.text.trim();
    const { chosen } = prompt;
    // A complete name of an action that does not apply here gets an explanation, before a similar one is run instead.
    if (chosen?.name !== line && this.#explainWithheld(({ label }) => label === line)) return;
    const labels = this.actions.map(({ label }) => label);
    this.#obey(chosen?.command ?? readCommand(line, this.sections, labels));
  }

  #obey(command: Command): void {
    switch (command.kind) {
      case 'quit':
        return this.#outside.quit();
      case 'help':
        return void this.#keyOfAll('?');
      case 'section':
        return this.enter(command.section, command.rest);
      case 'action': {
        const found = this.#offeredActions().find(({ bound }) => bound.label === command.label);
        return found && this.#runner.begin(found.bound, found.offer);
      }
      case 'unknown':
        return this.say(
          describePlaces(
            command.word,
            this.sections.some(({ isOperators }) => isOperators),
          ),
        );
      case 'surplus':
        return this.say(`${command.label} takes no arguments; it opens a form if it needs values.`);
    }
  }
}

/** Says where else an action exists, or that there is none. */
function describePlaces(word: string, isOperators: boolean): string {
  const places = listPlaces(word, isOperators);
  if (places.length === 0) return `There is no ${word} here; press : to see what is available.`;
  return `${word} is not available here, but on ${places.join(' and ')}.`;
}
