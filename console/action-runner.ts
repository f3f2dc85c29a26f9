import {
  findItem,
  fetchItemName,
  findRoute,
  listOfAdvice,
  type CallOf,
  type Client,
  type OperationId,
  type Advices,
} from '../cli/client/index.ts';
import type { FormatAdvice, Terminal } from '../cli/output/index.ts';
import {
  performAction,
  UNCHANGED_SINCE,
  readForm,
  findMend,
  findPlan,
  findWork,
  type Path,
  type Plan,
  type Work,
} from './perform-action.ts';
import type { Action } from '../cli/families/index.ts';
import type { BoundAction } from './catalog.ts';
import { AskDialog, ConfirmDialog, TextDialog, type Dialog } from './dialogs/dialog.ts';
import { FormDialog, type Filled } from './dialogs/form-dialog.ts';
import { ItemScreen, inALine } from './screens/item-screen.ts';
import { ListScreen } from './screens/list-screen.ts';
import type { Offer, Screen } from './screens/screen.ts';

/** Upper bound for the lines of a form. */
const LINES = 100;

/** The view in which actions run, and how they report. */
export interface Stage {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly screen: Screen | undefined;
  /** Fires when the screen is left. */
  readonly left: AbortSignal;
  dialog: Dialog | undefined;
  /** Set while something is being typed. */
  readonly prompt: object | undefined;
  changed: () => void;
  say: (text: string) => void;
  /** Returns how to word an advice here. */
  speaker: () => FormatAdvice;
  /** Reports a fault; in the form that was submitted, if there is one. */
  sayFault: (error: unknown, form?: FormDialog) => void;
  back: () => void;
}

interface Task {
  bound: Pick<BoundAction, 'action' | 'label'>;
  paths: readonly Path[];
  names: readonly string[];
  items?: readonly object[] | undefined;
  typed: Filled['typed'];
  form?: FormDialog | undefined;
}

const NOTHING: Filled['typed'] = { fields: {}, files: {}, cleared: {} };

/** Runs one action at a time: asks for its fields in a form, asks for confirmation, then calls the API. */
export class ActionRunner {
  readonly #stage: Stage;
  #work: AbortController | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  stop(): void {
    this.#work?.abort();
  }

  begin({ action, label }: BoundAction, { paths, names = [], items, given = {} }: Offer): void {
    const [path = {}] = paths;
    const asked = Object.entries(action.path).filter(([name]) => !(name in path));
    // Taken from the item that is shown.
    const { [UNCHANGED_SINCE]: _, ...flags } = action.flags;
    const isForm = asked.length > 0 || Object.keys(flags).length > 0 || action.lines !== undefined;
    const bound = { action, label };
    // A preview of changes is shown only for a single item.
    if (paths.length > 1 && (findPlan(action.operation) || action.lines))
      return this.#stage.say(`${label} works on one item at a time: unmark the others (space).`);
    if (!isForm) return this.#confirm({ bound, paths, names, items, typed: NOTHING });
    const title = `${label}: ${action.summary}${paths.length > 1 ? `, ${paths.length} of them` : ''}`;
    // Several have nothing set in common.
    const isAsking = asked.length === 0 && paths.length === 1 && (action.current ?? action.lines) !== undefined;
    const stays = action.current && !isAsking ? ['Empty fields are not changed.'] : [];
    // Uses the names of the options for fields, without their dashes.
    const said = action.description?.replaceAll(/--(?=[a-z])/g, '') ?? '';
    const which = paths.length > 1 ? [`For ${inALine(names)}.`] : [];
    const note = [...which, ...stays, said].join(' ').trim();
    const fields = { keys: Object.fromEntries(asked), flags, given, note, isAsking };
    const form: FormDialog = new FormDialog(title, fields, (filled) =>
      this.#confirm({
        bound,
        paths: paths.map((one) => ({ ...one, ...filled.path })),
        names,
        items,
        typed: filled.typed,
        form,
      }),
    );
    this.#stage.dialog = form;
    if (isAsking) void this.#beginForm(form, action, path);
  }

  /** Opens a form for a change with the current values. */
  async #beginForm(form: FormDialog, { current, lines }: Action, path: Path): Promise<void> {
    const { client, left } = this.#stage;
    const waiting = form;
    if (current)
      return this.#learn(findItem(client, current, path, left), (found) => form.begin(found ?? {}), { waiting });
    if (!lines) return;
    const asked = client.call(lines.operation, { path, query: { limit: LINES } } as CallOf<OperationId>, left);
    await this.#learn(
      asked,
      (answer) => {
        const all = lines.of(answer as never);
        if (all.length > 0) return form.beginWith(all);
        if (this.#stage.dialog === form) this.#stage.dialog = undefined;
        this.#stage.say(lines.empty);
      },
      { waiting },
    );
  }

  #confirm(task: Task): void {
    const { bound, paths, names, typed, form } = task;
    const { action, label } = bound;
    const { url } = this.#stage.client;
    const go = (): void => void this.#run(task);
    const { destroys } = action;
    const which = names.length > 0 ? `: ${inALine(names)}` : '';
    if (destroys) {
      const dialog = new ConfirmDialog({
        title: label,
        says: destroys.says + (paths.length > 1 ? which : ''),
        where: url,
        yes: go,
      });
      this.#stage.dialog = dialog;
      // Several have no name in common: how many they are has to be known.
      if (paths.length > 1) return dialog.name(String(paths.length));
      const name = fetchItemName(this.#stage.client, destroys.name, paths[0] ?? {}, this.#stage.left);
      return void this.#learn(name, (found) => dialog.name(found), { form, waiting: dialog });
    }
    const named = action.destroysNamed?.(typed.fields);
    if (named) {
      const dialog = new ConfirmDialog({ title: label, says: named.says, where: url, yes: go });
      dialog.name(named.name);
      return void (this.#stage.dialog = dialog);
    }
    const plan = findPlan(action.operation);
    if (plan) {
      const { client } = this.#stage;
      const [path = {}] = paths;
      return void this.#plan(
        task,
        readForm(client, action, path, typed).then((body) => plan(client, path, body)),
      );
    }
    if (form || findRoute(action.operation as OperationId)[0] === 'GET') return go();
    const question = `${action.summary[0]?.toUpperCase() ?? ''}${action.summary.slice(1)}${which}, on ${url}?`;
    const lines = [question, ...(action.description === undefined ? [] : [action.description])];
    this.#stage.dialog = new AskDialog(label, lines, go);
  }

  /** Shows the planned changes and asks for confirmation. */
  #plan(task: Task, planned: Promise<Plan>): Promise<void> {
    const { bound, names, form } = task;
    this.#stage.say(`${bound.label} … loading the changes`);
    const show = ({ question, draw, work }: Plan): void => {
      this.#stage.say('');
      this.#stage.dialog = new AskDialog(
        bound.label,
        [question],
        () => void this.#run({ bound, paths: [{}], names, typed: NOTHING, form }, work),
        (columns) => draw(this.#stage.terminal, columns),
      );
    };
    return this.#learn(planned, show, { form });
  }

  /** Loads what an action needs first; drops the result if the screen was left meanwhile. */
  async #learn<T>(
    asked: Promise<T>,
    then: (answer: T) => void,
    { form, waiting }: { form?: FormDialog | undefined; waiting?: Dialog },
  ): Promise<void> {
    const { left, screen } = this.#stage;
    try {
      const answer = await asked;
      if (left.aborted) return;
      then(answer);
      this.#stage.changed();
    } catch (error) {
      if (left.aborted) return;
      if (waiting !== undefined && this.#stage.dialog === waiting) this.#stage.dialog = undefined;
      this.#showFault(error, form, screen);
    }
  }

  async #run({ bound, paths, names, items, typed, form }: Task, planned?: Work): Promise<void> {
    const { action, label } = bound;
    const stage = this.#stage;
    const work = new AbortController();
    this.#work = work;
    const { screen } = stage;
    const of = paths.length > 1 ? (done: number): string => ` ${done} of ${paths.length}` : (): string => '';
    const showProgress = (done: number, waits = ''): void =>
      stage.say(`${label}${of(done)} … ${waits}${paths.length > 1 ? '  (esc stops it)' : ''}`);
    try {
      const progress = { tell: showProgress, signal: work.signal };
      const body = planned ? {} : await readForm(stage.client, action, paths[0] ?? {}, typed);
      const special = planned ?? findWork(action.operation, body);
      const answers = special
        ? [await special(stage.client, progress)]
        : await performAction(stage.client, { action, paths, items, body }, progress);
      screen?.unmark?.();
      const { text, dialog } = describeOutcome(action, answers, { paths, names, say: stage.speaker() });
      stage.dialog = dialog ?? stage.dialog;
      if (stage.screen === screen && !dialog && !special) openMade(screen, action, answers);
      stage.say(text);
      // The name of the operation decides: a deleted item has no screen any more.
      if (/^delete/.test(action.operation) && screen instanceof ItemScreen && screen === stage.screen) stage.back();
      else screen?.refresh();
    } catch (error) {
      if (work.signal.aborted) stage.say(`${label} was stopped.`);
      else if (await this.#offerMend(error, { bound, paths, names, items, typed, form }, screen)) return;
      // Of several the first may be done already: those are not done again by one more Enter.
      else this.#showFault(error, paths.length > 1 ? undefined : form, screen);
      screen?.refresh();
    } finally {
      if (this.#work === work) this.#work = undefined;
    }
  }

  /** Offers to fix what blocks the action and then to repeat it; returns whether there was something to offer. */
  async #offerMend(error: unknown, task: Task, screen: Screen | undefined): Promise<boolean> {
    const { client, left } = this.#stage;
    const mend = await findMend(error, { client, signal: left }, task.bound.action, task.paths).catch(() => undefined);
    if (!mend || left.aborted || this.#stage.screen !== screen) return false;
    const go = async (): Promise<void> => {
      try {
        await mend.work();
        await this.#run(task);
      } catch (fault) {
        this.#showFault(fault, undefined, screen);
      }
    };
    this.#stage.say('');
    this.#stage.dialog = new AskDialog(mend.title, [mend.question], () => void go());
    this.#stage.changed();
    return true;
  }

  /** Restores the typed values for another try, unless the user has gone on to something else. */
  #showFault(error: unknown, form: FormDialog | undefined, screen: Screen | undefined): void {
    const stage = this.#stage;
    const isFree = stage.screen === screen && stage.dialog === undefined && stage.prompt === undefined;
    if (form === undefined || !isFree) return stage.sayFault(error);
    stage.sayFault(error, form);
    stage.dialog = form;
  }
}

function openMade(screen: Screen | undefined, action: Action, [answer]: readonly unknown[]): void {
  const made = answer as { id?: string } | undefined;
  if (!(screen instanceof ListScreen) || !/^create/.test(action.operation) || typeof made?.id !== 'string') return;
  screen.openMade(action, { id: made.id });
}

/** Returns the message about the outcome: a line, or a text that stays until it was read. */
function describeOutcome(
  action: Action,
  answers: readonly unknown[],
  { paths, names, say }: Pick<Offer, 'paths'> & { names: readonly string[]; say: FormatAdvice },
): { text: string; dialog?: Dialog } {
  const [answer] = answers;
  const text = typeof answer === 'string' ? answers.join('\n') : action.describe?.(answer as never);
  const inWords = (advices: Advices): string =>
    listOfAdvice(advices)
      .map(say)
      .filter((said) => said !== undefined)
      .join('\n');
  const hint = inWords(action.hint?.(answer as never, {}));
  const warning = [...new Set(answers.map((one) => inWords(action.warn?.(one as never))))].filter(Boolean).join('\n');
  if (text !== undefined && (action.secret !== undefined || text.includes('\n') || hint !== '')) {
    const copied = action.copy?.(answer as never) ?? text;
    return { text: '', dialog: new TextDialog(action.verb, hint === '' ? text : `${text}\n\n${hint}`, copied) };
  }
  if (typeof answer === 'string') return { text: text ?? '' };
  const { id, name, email, data } = answer as { id?: string; name?: string; email?: string; data?: readonly unknown[] };
  const named = inALine(names);
  // An object that was created from an item has its own id.
  const isIts = id === undefined || paths.some((path) => Object.values(path).includes(id));
  const what =
    answers.length > 1
      ? named
      : (text ?? (isIts && named !== '' ? named : (name ?? email ?? id ?? (data ? `${data.length} of them` : ''))));
  // A text of the action is shown alone.
  const isWhole = action.done === undefined && text !== undefined && answers.length === 1;
  const done = isWhole ? text : `${action.done ?? 'Done'}  ${what}`;
  if (warning === '') return { text: done };
  return { text: '', dialog: new TextDialog(action.verb, `${done}\n\n${warning}`, warning) };
}
