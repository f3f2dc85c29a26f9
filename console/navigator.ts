import { nameOf, routeOf, type Client, type OperationId } from '../cli/client/index.ts';
import { clean, type Terminal } from '../cli/output/index.ts';
import { carryOut, type Path } from './carry-out.ts';
import type { Doing, Section } from './catalog.ts';
import { commonStart, completions, filterCompletions, readCommand } from './command-line.ts';
import {
  AskDialog,
  ConfirmDialog,
  FormDialog,
  MenuDialog,
  TextDialog,
  type Dialog,
  type Filled,
} from './dialogs/dialog.ts';
import { typeInto } from './dialogs/type-into.ts';
import { helpText } from './help.ts';
import { outcomeOf } from './outcome.ts';
import { ItemScreen } from './screens/item-screen.ts';
import { ListScreen } from './screens/list-screen.ts';
import { screenOf } from './screens/screen-of.ts';
import { inWords, type Host, type Offer, type Screen } from './screens/screen.ts';
import { watchClient } from './watched-client.ts';
import { planOf, workOf, type Plan } from './works.ts';

export interface Prompt {
  sign: ':' | '/';
  text: string;
}

interface Outside {
  client: Client;
  terminal: Terminal;
  /** What is shown here, the first of them at first. */
  sections: readonly Section[];
  /** Puts a text on the clipboard of whoever sits at the terminal. */
  toClipboard: (text: string) => void;
  quit: () => void;
}

const ID = /^([0-9a-f]{8}-[0-9a-f-]{27}|[a-z]+_[0-9a-f]{16,})$/;

/** Where one is and what one is doing: screens on a stack, at most one dialog or prompt over them, and every key. */
export class Navigator implements Host {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly sections: readonly Section[];
  readonly #outside: Outside;
  readonly #listeners = new Set<() => void>();
  #version = 0;
  #stack: Screen[] = [];
  #section: Section | undefined;
  #stop = new AbortController();
  #work: AbortController | undefined;
  dialog: Dialog | undefined;
  prompt: Prompt | undefined;
  message = '';
  /** Since when the server says nothing. */
  lostSince: number | undefined;

  constructor(outside: Outside) {
    this.#outside = outside;
    this.terminal = outside.terminal;
    this.sections = outside.sections;
    this.client = watchClient(outside.client, {
      heard: () => this.#heard(undefined),
      silent: () => this.#heard(this.lostSince ?? Date.now()),
    });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  version = (): number => this.#version;

  changed = (): void => {
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

  open = (screen: Screen): void => this.#show([...this.#stack, screen]);

  close(): void {
    this.#stop.abort();
    this.#work?.abort();
  }

  /** Whatever the former screen waits for is given up. */
  #show(stack: Screen[]): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#stack = stack;
    this.screen?.start(this.#stop.signal);
    this.changed();
  }

  enter(section: Section, rest = ''): void {
    this.#section = section;
    const screen = screenOf(this, section);
    if (screen instanceof ListScreen && ID.test(rest)) {
      this.#show([screen]);
      return screen.openById(rest);
    }
    if (rest !== '') this.#applyFilter(screen, rest);
    this.#show([screen]);
  }

  #applyFilter(screen: Screen | undefined, text: string): void {
    try {
      if (screen?.filter) screen.filter.apply(text);
      else this.say('Nothing is to be filtered here.');
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  key(key: string): void {
    if (key === 'ctrl-c') return this.#outside.quit();
    this.#dispatch(key);
    this.changed();
  }

  paste(text: string): void {
    const line = text.replaceAll(/\s+/g, ' ').trim();
    if (this.prompt) this.prompt.text += line;
    else this.dialog?.paste?.(line);
    this.changed();
  }

  #dispatch(key: string): void {
    this.message = '';
    if (this.#work && key === 'esc') return this.#work.abort();
    if (this.dialog) return this.#keyOfDialog(this.dialog, key);
    if (this.prompt) return this.#keyOfPrompt(this.prompt, key);
    if (this.#keyOfAll(key) || this.screen?.key(key)) return;
    const found = this.#doings().find(({ doing }) => doing.key === key);
    if (found) return this.#begin(found.doing, found.offer);
    if (key === 'left' || key === 'h') return this.#back();
  }

  #keyOfDialog(dialog: Dialog, key: string): void {
    if (key === 'y' && dialog.copy?.() !== undefined) return this.#copy(dialog.copy());
    // An answer may open another dialog: that one stays.
    if (!dialog.key(key) && this.dialog === dialog) this.dialog = undefined;
  }

  #keyOfAll(key: string): boolean {
    const at = key === '0' ? 9 : /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
    const section = this.sections[at];
    if (section) this.enter(section);
    else if (key === ':') this.prompt = { sign: ':', text: '' };
    else if (key === '/' && this.screen?.filter) this.prompt = { sign: '/', text: this.screen.filter.text };
    else if (key === '?')
      this.dialog = new TextDialog(
        'Keys',
        helpText(
          this.screen?.keys() ?? [],
          this.#doings().map(({ doing }) => doing),
          this.sections,
        ),
      );
    else if (key === 'r') this.screen?.refresh();
    else if (key === 'y') this.#copy(this.screen?.copy());
    else if (key === 'x') this.#menu();
    else if (key === 'esc') this.#escape();
    else if (key === 'q') this.#back(true);
    else return false;
    return true;
  }

  #escape(): void {
    const filter = this.screen?.filter;
    if (filter && filter.text !== '') return filter.apply('');
    this.#back();
  }

  #back(mayQuit = false): void {
    if (this.#stack.length > 1) return this.#show(this.#stack.slice(0, -1));
    if (mayQuit) this.#outside.quit();
  }

  #copy(text: string | undefined): void {
    if (text === undefined) return this.say('There is nothing to copy here.');
    this.#outside.toClipboard(text);
    const start = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    this.say(`Copied to the clipboard, where the terminal allows it: ${start}`);
  }

  #doings(): { doing: Doing; offer: Offer }[] {
    return (this.screen?.offers() ?? []).flatMap((offer) => offer.doings.map((doing) => ({ doing, offer })));
  }

  /** Those with a key of their own, for the last line. */
  get doings(): readonly Doing[] {
    return this.#doings().map(({ doing }) => doing);
  }

  #menu(): void {
    const all = this.#doings();
    if (all.length === 0) return this.say('Nothing is to be done here.');
    this.dialog = new MenuDialog(
      all.map(({ doing }) => doing),
      (doing) => {
        const found = all.find((one) => one.doing === doing);
        if (found) this.#begin(doing, found.offer);
      },
    );
  }

  #keyOfPrompt(prompt: Prompt, key: string): void {
    if (key === 'esc' || (key === 'backspace' && prompt.text === '')) this.prompt = undefined;
    else if (key === 'tab') prompt.text = this.#complete(prompt);
    else if (key === 'enter') {
      this.prompt = undefined;
      if (prompt.sign === '/') this.#applyFilter(this.screen, prompt.text);
      else this.#obey(prompt.text);
    } else prompt.text = typeInto(prompt.text, key);
  }

  candidates({ sign, text }: Prompt): string[] {
    if (sign === ':')
      return completions(
        text,
        this.sections,
        this.doings.map(({ label }) => label),
      );
    return filterCompletions(text, Object.keys(this.screen?.filter?.names ?? {}));
  }

  #complete(prompt: Prompt): string {
    const words = this.candidates(prompt);
    const start = commonStart(words);
    return start.length > prompt.text.length ? start : prompt.text;
  }

  #obey(line: string): void {
    const command = readCommand(
      line,
      this.sections,
      this.doings.map(({ label }) => label),
    );
    switch (command.kind) {
      case 'quit':
        return this.#outside.quit();
      case 'help':
        return void this.#keyOfAll('?');
      case 'section':
        return this.enter(command.section, command.rest);
      case 'doing': {
        const found = this.#doings().find(({ doing }) => doing.label === command.label);
        return found && this.#begin(found.doing, found.offer);
      }
      case 'unknown':
        return this.say(`There is no ${command.word} here; Tab shows what there is.`);
    }
  }

  /** First what has to be known, then whether it is meant, then the work. */
  #begin({ action, label }: Doing, { paths, given = {} }: Offer): void {
    const [path = {}] = paths;
    const asked = Object.entries(action.path).filter(([name]) => !(name in path));
    const isForm = asked.length > 0 || Object.keys(action.flags).length > 0;
    const go = (filled: Filled): void =>
      this.#confirm(
        { action, label },
        paths.map((one) => ({ ...one, ...filled.path })),
        { body: filled.body, isForm },
      );
    // What would change is shown for one.
    if (paths.length > 1 && planOf(action.operation))
      return this.say(`${label} does one at a time: unmark the others (space).`);
    if (!isForm) return go({ path: {}, body: {} });
    const title = `${label}: ${action.summary}${paths.length > 1 ? `, ${paths.length} of them` : ''}`;
    const fields = { keys: Object.fromEntries(asked), flags: action.flags, given, note: action.description };
    this.dialog = new FormDialog(title, fields, go);
  }

  #confirm(
    doing: Pick<Doing, 'action' | 'label'>,
    paths: readonly Path[],
    { body, isForm }: { body: Filled['body']; isForm: boolean },
  ): void {
    const { action, label } = doing;
    const go = (): void => void this.#run(doing, paths, body);
    const { destroys } = action;
    const many = paths.length > 1 ? ` for ${paths.length} of them` : '';
    if (destroys) {
      const dialog = new ConfirmDialog({ title: label, says: destroys.says + many, where: this.client.url, yes: go });
      this.dialog = dialog;
      // Several have no name in common: how many they are has to be known.
      if (paths.length > 1) return dialog.name(String(paths.length));
      return void this.#name(dialog, destroys.name, paths[0] ?? {});
    }
    const named = action.destroysNamed?.(body);
    if (named) {
      const dialog = new ConfirmDialog({ title: label, says: named.says, where: this.client.url, yes: go });
      dialog.name(named.name);
      return void (this.dialog = dialog);
    }
    const plan = planOf(action.operation);
    if (plan) return void this.#plan(doing, plan(this.client, paths[0] ?? {}, body));
    if (isForm || routeOf(action.operation as OperationId)[0] === 'GET') return go();
    const question = `${action.summary[0]?.toUpperCase() ?? ''}${action.summary.slice(1)}${many}, on ${this.client.url}?`;
    this.dialog = new AskDialog(
      label,
      [question, ...(action.description === undefined ? [] : [action.description])],
      go,
    );
  }

  #name(dialog: ConfirmDialog, naming: Parameters<typeof nameOf>[1], path: Path): Promise<void> {
    return this.#learn(nameOf(this.client, naming, path, this.#stop.signal), (name) => dialog.name(name));
  }

  /** Shows what would be done, and asks. */
  #plan(doing: Pick<Doing, 'action' | 'label'>, planned: Promise<Plan>): Promise<void> {
    this.say(`${doing.label} … asking what would change`);
    return this.#learn(planned, ({ question, draw, work }) => {
      this.say('');
      this.dialog = new AskDialog(
        doing.label,
        [question],
        () => void this.#run(doing, [{}], {}, work),
        (columns) => draw(this.terminal, columns),
      );
    });
  }

  /** What has to be known first; a screen that is left meanwhile does not hear of it. */
  async #learn<T>(asked: Promise<T>, then: (answer: T) => void): Promise<void> {
    const { signal } = this.#stop;
    try {
      const answer = await asked;
      if (signal.aborted) return;
      then(answer);
      this.changed();
    } catch (error) {
      if (signal.aborted) return;
      this.dialog = undefined;
      this.say(inWords(error));
    }
  }

  async #run(
    { action, label }: Pick<Doing, 'action' | 'label'>,
    paths: readonly Path[],
    body: Filled['body'],
    special = workOf(action.operation, body),
  ): Promise<void> {
    const work = new AbortController();
    this.#work = work;
    const screen = this.screen;
    const of = paths.length > 1 ? (done: number): string => ` ${done} of ${paths.length}` : (): string => '';
    const tell = (done: number, waits = ''): void =>
      this.say(`${label}${of(done)} … ${waits}${paths.length > 1 ? '  (esc stops it)' : ''}`);
    try {
      const progress = { tell, signal: work.signal };
      const answers = special
        ? [await special(this.client, progress)]
        : await carryOut(this.client, { action, paths, body }, progress);
      screen?.unmark?.();
      const { text, dialog } = outcomeOf(action, answers);
      this.dialog = dialog ?? this.dialog;
      this.say(text);
      if (/^delete/.test(action.operation) && screen instanceof ItemScreen && screen === this.screen) this.#back();
      else screen?.refresh();
    } catch (error) {
      this.say(work.signal.aborted ? `${label} was stopped.` : inWords(error));
      screen?.refresh();
    } finally {
      if (this.#work === work) this.#work = undefined;
    }
  }
}
