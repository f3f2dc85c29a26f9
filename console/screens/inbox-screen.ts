import type { AnswerOf, BodyOf, Client } from '../../cli/client/index.ts';
import { answeringInWords, inboxes, inboxThreads, type Action, type Family } from '../../cli/families/index.ts';
import { clean, type ThreadEmail } from '../../cli/output/index.ts';
import { ChooseDialog, LineDialog, type Choice } from '../dialogs/dialog.ts';
import { joinColumns, faint } from '../draw/text.ts';
import { linesInWords, linesSeen, withBar, computePosition } from '../draw/scroll.ts';
import {
  drawThread,
  drawThreadRow,
  ROW_LINES,
  shortTime,
  ThreadList,
  type OpenThread,
  type ThreadRow,
} from './thread-list.ts';
import { ItemScreen } from './item-screen.ts';
import { follow, tried, type Host, type Offer, type Screen, type ScreenFilter, type Size } from './screen.ts';
import type { Awaited } from '../waiting-keys.ts';
import type { BoundAction } from '../catalog.ts';
import { readTimeAhead } from '../../cli/input/index.ts';
import { Composing, type Kind } from './composing.ts';
import { chooseFileToSave, OpenedFiles } from './thread-files.ts';

const actionIn = ({ actions = [] }: Family, verb: string): Action[] => actions.filter((one) => one.verb === verb);

const bind = (family: Family, keys: Readonly<Record<string, string>>): BoundAction[] =>
  Object.entries(keys).flatMap(([verb, key]) => actionIn(family, verb).map((action) => ({ action, key, label: verb })));

/** Actions that the screen does not have keys for itself. */
const ON_THREAD = bind(inboxThreads, {
  spam: 'p',
  trash: 't',
  reopen: 'i',
  automatic: 'M',
  unassign: 'z',
  note: 'n',
  wake: 'w',
  'mark-read': 'm',
  'delete-thread': 'd',
});

const applies = (row: ThreadRow, { label }: BoundAction): boolean => {
  switch (label) {
    case 'wake':
      return row.snoozed_until !== null;
    case 'unassign':
      return row.assignee !== null;
    case 'mark-read':
      return !row.read;
    case 'reopen':
      return row.folder !== 'inbox';
    case 'automatic':
    case 'spam':
    case 'trash':
      return row.folder !== label;
    default:
      return true;
  }
};

/** Returns the actions on a thread. */
function offersOn(inbox: string, row: ThreadRow | undefined): Offer[] {
  if (!row) return [];
  const path = { inbox, thread_id: row.id };
  const names = [row.subject ?? row.id];
  return [{ actions: ON_THREAD.filter((bound) => applies(row, bound)), paths: [path], names }];
}

interface SnoozeChoice {
  label: string;
  until: Date;
}

const HOUR_MS = 3_600_000;
/** The hour at which people begin to work. */
const MORNING = 9;

/** Returns the times at which a thread may come back, by the local clock. */
export function snoozeChoices(now: Date): SnoozeChoice[] {
  const morningIn = (days: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING, 0, 0);
  const toMonday = (8 - now.getDay()) % 7 || 7;
  const choices: [string, Date][] = [
    ['in 3 hours', new Date(now.getTime() + 3 * HOUR_MS)],
    ['tomorrow at 9', morningIn(1)],
    ['in 3 days at 9', morningIn(3)],
    ['next Monday at 9', morningIn(toMonday)],
    ['in 4 weeks at 9', morningIn(28)],
  ];
  return choices.map(([label, until]) => ({ label, until }));
}

type Change = BodyOf<'updateInboxThread'>;

const EMAILS = 100;
/** These need no thread. */
const AT_ONCE: ReadonlySet<string> = new Set(['tab', 'shift-tab', 'D', 'S', 'ctrl-r', 'left', 'h']);
/** These are about the emails of the selected thread. */
const OF_EMAILS: ReadonlySet<string> = new Set(['r', 'R', 'f', 'v', 'O', 'c']);
/** Longer lines are hard to read. */
const READABLE = 100;

interface InboxInput {
  /** The id of the inbox. */
  inbox: string;
  title: string;
  /** The screen of its drafts. */
  drafts: () => Screen;
}

/** An inbox for answering mail: its threads on the left, the emails of the selected one on the right. */
export class InboxScreen implements Screen {
  readonly title: string;
  readonly own: ReadonlySet<string> = new Set(['r']);
  readonly isWhole = true;
  readonly #host: Host;
  readonly #inbox: string;
  readonly #drafts: () => Screen;
  readonly #list: ThreadList;
  #open: { id: string; version: string; opened: OpenThread } | undefined;
  #signal = AbortSignal.abort();
  #fault = '';
  /** The thread has the whole width, and the arrows scroll it. */
  #isWide = false;
  #isQuoteShown = false;
  /** The scroll position; undefined shows its newest email. */
  #scroll: number | undefined;
  #shownAt = 0;
  #page = 10;
  #length = 0;
  readonly #composing: Composing;
  readonly #files = new OpenedFiles();
  #settings: AnswerOf<'getInbox'> | undefined;
  #last: { id: string; folder: ThreadRow['folder']; subject: string } | undefined;

  constructor(host: Host, { inbox, title, drafts }: InboxInput) {
    this.#drafts = drafts;
    this.#host = host;
    this.#inbox = inbox;
    this.title = title;
    this.#list = new ThreadList(host.client, inbox);
    this.#composing = new Composing(host);
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void this.#loadSettings(signal);
    void follow(this.#host, signal, { load: (stop) => this.#load(stop), tell: (fault) => this.#setFault(fault) });
  }

  /** Replies are written without the settings as well: the server adds the signature and chooses the recipients. */
  async #loadSettings(signal: AbortSignal): Promise<void> {
    const path = { inbox: this.#inbox };
    this.#settings = await this.#host.client.call('getInbox', { path }, signal).catch(() => undefined);
  }

  refresh = (): void => this.#try((signal) => this.#load(signal));

  #try(load: (signal: AbortSignal) => Promise<void>): void {
    void tried(this.#host, this.#signal, { load, tell: (fault) => this.#setFault(fault) }).then(() =>
      this.#host.changed(),
    );
  }

  #setFault(fault: string): void {
    const isNew = fault !== this.#fault;
    this.#fault = fault;
    if (isNew) this.#host.changed();
  }

  async #load(signal: AbortSignal): Promise<void> {
    await this.#list.refresh(signal);
    this.#composing.renew((threadId) => this.#list.find(threadId));
    this.#host.changed();
    await this.#loadThread(signal);
  }

  /** Loads the selected thread; again only if it has changed. */
  async #loadThread(signal: AbortSignal): Promise<void> {
    const { row } = this.#list;
    if (!row) return;
    const version = JSON.stringify(row);
    const isKnown = this.#open?.id === row.id && this.#open.version === version;
    if (isKnown && !this.#open?.opened.emails.some(isOnItsWay)) return;
    const path = { inbox: this.#inbox, thread_id: row.id };
    const [thread, page] = await Promise.all([
      this.#host.client.call('getInboxThread', { path }, signal),
      this.#host.client.call('listInboxThreadEmails', { path, query: { limit: EMAILS } }, signal),
    ]);
    if (this.#list.row?.id !== row.id) return;
    // The reading position stays, unless there is something new.
    const isSame = this.#open?.id === row.id && this.#open.opened.emails.length === page.data.length;
    if (!isSame) this.#scroll = undefined;
    const opened = { thread, emails: page.data.toReversed(), hasOlder: page.has_more };
    this.#open = { id: row.id, version, opened };
    this.#host.changed();
  }

  get #opened(): OpenThread | undefined {
    return this.#open?.id === this.#list.row?.id ? this.#open?.opened : undefined;
  }

  /** The email to answer: the newest received, or the newest. */
  get #answered(): OpenThread['emails'][number] | undefined {
    const emails = this.#opened?.emails ?? [];
    return emails.findLast(({ direction }) => direction === 'inbound') ?? emails.at(-1);
  }

  note(): string {
    if (this.#fault !== '') return this.#fault;
    const { view, filterText, place, isLoaded } = this.#list;
    const what = filterText === '' ? view : `/${filterText}`;
    if (!isLoaded) return `${what} · loading …`;
    const lines = this.#opened ? linesInWords(this.#shownAt, this.#page, this.#length) : '';
    return [what, place, lines].filter((text) => text !== '').join(' · ');
  }

  draw({ columns, rows }: Size): string[] {
    const { isLoaded, rows: threads } = this.#list;
    if (threads.length === 0) {
      const none = this.#list.filterText === '' ? 'There is no mail in this folder.' : 'Nothing was found.';
      return ['', isLoaded ? `  ${none}` : faint('  Loading …')];
    }
    if (this.#isWide) return this.#drawThread(columns - 3, rows).map((line) => ` ${line}`);
    const left = Math.max(28, Math.min(64, Math.floor(columns * 0.38)));
    const width = columns - left - 4;
    return joinColumns(this.#drawList(left, rows), this.#drawThread(width, rows), left, rows);
  }

  #drawList(width: number, rows: number): string[] {
    const { at, rows: threads, filterText } = this.#list;
    const isFound = filterText !== '';
    const shown = Math.max(1, Math.floor(rows / ROW_LINES));
    const top = Math.max(0, Math.min(at - Math.floor(shown / 2), threads.length - shown));
    const lines = threads
      .slice(top, top + shown)
      .flatMap((row, index) => drawThreadRow(row, { isInHand: top + index === at, width, isFound }));
    return withBar(lines, { top, seen: shown, count: threads.length }, { columns: width, hasBeside: true });
  }

  #drawThread(width: number, rows: number): string[] {
    this.#page = rows;
    const opened = this.#opened;
    if (!opened) return [faint('Loading …')];
    const drawn = drawThread(this.#host.terminal, opened, {
      width: Math.min(width, READABLE),
      isQuoteShown: this.#isQuoteShown,
    });
    this.#length = drawn.lines.length;
    // If there are several emails, the newest is shown first.
    const begin = opened.emails.length === 1 ? 0 : drawn.newestAt;
    const { at, shown } = linesSeen(drawn.lines, { top: this.#scroll ?? begin, columns: width + 2, rows });
    this.#shownAt = at;
    return shown;
  }

  awaits(key: string): Awaited {
    const isThere = this.#list.isLoaded && (!OF_EMAILS.has(key) || this.#opened !== undefined || !this.#list.row);
    if (isThere || AT_ONCE.has(key)) return undefined;
    return this.#fault === '' ? 'on its way' : 'not to be had';
  }

  key(key: string): boolean {
    const own: Readonly<Record<string, () => void>> = {
      r: () => this.#write('reply'),
      R: () => this.#write('reply to all'),
      f: () => this.#write('forward'),
      e: () => this.#archive(),
      U: () => this.#undo(),
      s: () => this.#snooze(),
      a: () => this.#assign(),
      c: () => this.#findOthers(),
      v: () => this.#chooseFile(chooseFileToSave),
      O: () => this.#chooseFile((host, emails) => this.#files.chooseToOpen(host, emails)),
      l: () => this.#label(),
      u: () => this.#unread(),
      D: () => this.#openDrafts(),
      o: () => void (this.#isQuoteShown = !this.#isQuoteShown),
      S: () => this.#openSettings(),
      enter: () => this.#widen(),
      right: () => this.#widen(),
      'ctrl-r': () => this.refresh(),
      tab: () => this.#turn(1),
      'shift-tab': () => this.#turn(-1),
      ']': () => this.#step(1),
      '[': () => this.#step(-1),
    };
    const found = own[key];
    if (found) found();
    else if (this.#isWide && ['esc', 'left', 'h'].includes(key)) this.#isWide = false;
    else return this.#move(key);
    this.#host.changed();
    return true;
  }

  /** In the split view the arrows move in the list, and pages in the thread. */
  #move(key: string): boolean {
    const isList = !this.#isWide && ['up', 'down', 'k', 'j', 'home', 'end', 'g', 'G'].includes(key);
    if (isList) {
      const end = this.#list.rows.length - 1;
      const to = { home: 0, g: 0, end, G: end }[key] ?? this.#list.at + (key === 'up' || key === 'k' ? -1 : 1);
      this.#select(to);
      return true;
    }
    const to = computePosition(key, this.#shownAt, this.#page, this.#length);
    if (to === undefined) return false;
    this.#scroll = to;
    this.#markRead();
    return true;
  }

  #step(by: 1 | -1): void {
    this.#select(this.#list.at + by);
    this.#markRead();
  }

  #select(at: number): void {
    this.#list.select(at);
    this.#scroll = undefined;
    this.#try(async (signal) => {
      if (this.#list.hasBehind && this.#list.at >= this.#list.rows.length - 10) await this.#list.behind(signal);
      await this.#loadThread(signal);
    });
  }

  #turn(step: 1 | -1): void {
    this.#list.turn(step);
    this.#isWide = false;
    this.refresh();
  }

  #widen(): void {
    this.#isWide = this.#list.row !== undefined;
    this.#markRead();
  }

  #markRead(): void {
    const { row } = this.#list;
    if (row && !row.read) this.#change(row, { read: true });
  }

  /** Shows the change at once; the server is called afterwards, and its refusals are reported. */
  #change(row: ThreadRow, body: Change, done = ''): void {
    const { read: isRead } = body;
    if (isRead !== undefined) this.#list.amend(row.id, { read: isRead });
    const path = { inbox: this.#inbox, thread_id: row.id };
    void this.#host.client
      .call('updateInboxThread', { path, body })
      .then(() => (done === '' ? undefined : this.#host.say(done)))
      .catch((error: unknown) => this.#host.sayFault(error))
      .then(() => this.refresh());
  }

  /** Removes a thread that was dealt with; the next one is selected. */
  #leaveTo(row: ThreadRow, body: Change, done: string): void {
    this.#last = { id: row.id, folder: row.folder, subject: row.subject ?? '' };
    this.#list.drop(row.id);
    this.#scroll = undefined;
    if (this.#list.rows.length === 0) this.#isWide = false;
    this.#change(row, body, `${done}  ${clean(row.subject ?? '')}   (U undoes it)`);
    this.#try((signal) => this.#loadThread(signal));
  }

  #archive(): void {
    const { row, view } = this.#list;
    if (!row) return;
    if (view === 'archive') return this.#host.say('The thread is archived already; i moves it back to the inbox.');
    this.#leaveTo(row, { folder: 'archive', read: true }, 'Archived');
  }

  #undo(): void {
    const last = this.#last;
    if (!last) return this.#host.say('There is nothing to undo.');
    this.#last = undefined;
    const folder = last.folder === 'sent' ? 'inbox' : last.folder;
    const path = { inbox: this.#inbox, thread_id: last.id };
    // Moving it wakes it too.
    void this.#host.client
      .call('updateInboxThread', { path, body: folder === 'inbox' ? { folder, snoozed_until: null } : { folder } })
      .then(() => this.#host.say(`Back in ${folder}  ${clean(last.subject)}`))
      .catch((error: unknown) => this.#host.sayFault(error))
      .then(() => this.refresh());
  }

  #unread(): void {
    const { row } = this.#list;
    if (!row) return;
    this.#isWide = false;
    this.#change(row, { read: !row.read }, row.read ? 'Unread' : 'Read');
  }

  #snooze(): void {
    const { row } = this.#list;
    if (!row) return;
    if (row.folder !== 'inbox') return this.#host.say('Only threads in the inbox can be snoozed.');
    const choices = snoozeChoices(new Date()).map(({ label, until }) => ({
      label,
      choose: () => {
        this.#host.dialog = undefined;
        this.#leaveTo(row, { snoozed_until: until.toISOString() }, `Snoozed until ${shortTime(until)}`);
      },
    }));
    const title = `Snooze until: ${clean(row.subject ?? '')}`;
    const other = { label: 'another time …', choose: () => this.#snoozeFreely(row, title) };
    this.#host.dialog = new ChooseDialog(title, [...choices, other]);
  }

  #snoozeFreely(row: ThreadRow, title: string): void {
    const says = 'When? For example tomorrow 9:00, monday, 17:30, in 3 days, or 2030-01-31.';
    const done = (text: string): string => {
      try {
        const until = readTimeAhead(text, Date.now());
        this.#leaveTo(row, { snoozed_until: until }, `Snoozed until ${shortTime(until)}`);
        return '';
      } catch (error) {
        return this.#host.faults.inWords(error);
      }
    };
    this.#host.dialog = new LineDialog({ title, says, done });
  }

  #assign(): void {
    const { row } = this.#list;
    if (row)
      void chooseAssignee(this.#host, this.#signal, {
        row,
        assign: (assignee) =>
          this.#change(row, { assignee }, assignee === null ? 'Unassigned' : `Assigned to ${clean(assignee)}`),
      });
  }

  /** Searches the other threads of the person whose mail is answered. */
  #findOthers(): void {
    const email = this.#answered;
    if (!email) return;
    const [person = ''] = email.direction === 'inbound' ? [email.from] : email.to;
    const address = (/<([^<>]*)>\s*$/.exec(person)?.[1] ?? person).trim();
    if (address === '' || /[\s,]/.test(address)) return this.#host.say('This email has no address to search for.');
    this.filter.apply(`from=${address}`);
  }

  #chooseFile(choose: (host: Host, emails: readonly ThreadEmail[]) => void): void {
    choose(this.#host, this.#opened?.emails ?? []);
  }

  #label(): void {
    const { row } = this.#list;
    if (row) void chooseLabels(this.#host, this.#signal, { inbox: this.#inbox, row, done: () => this.refresh() });
  }

  #write(kind: Kind): void {
    const { row } = this.#list;
    const email = this.#answered;
    if (!row || !email) return;
    const path = { inbox: this.#inbox, thread_id: row.id, inbox_email_id: email.id };
    const emails = this.#opened?.emails ?? [];
    const others = (): string => answeringInWords(this.#list.find(path.thread_id) ?? row);
    const { has_draft: hasDraft } = row;
    const begun = { path, email, kind, inbox: this.#settings, subject: row.subject ?? '', hasDraft, emails, others };
    this.#list.keepPlace();
    this.#composing.begin(begun, () => this.refresh());
    this.#markRead();
  }

  #openDrafts(): void {
    this.#host.open(this.#drafts());
  }

  #openSettings(): void {
    const { get } = inboxes;
    const path = { inbox: this.#inbox };
    const none = (): never => {
      throw new Error('the settings of an inbox have no list');
    };
    const input = { family: inboxes, title: () => 'settings', path, fields: get.fields, get, lists: [], list: none };
    this.#host.open(new ItemScreen(this.#host, input));
  }

  keys(): readonly (readonly [string, string])[] {
    return [
      ['r', 'reply'],
      ['e', 'archive'],
      ['s', 'snooze'],
      ['l', 'label'],
      ['u', 'unread'],
      ['enter', 'read'],
      ['space', 'scroll'],
      ['tab', 'folders'],
      ['a', 'assign'],
      ['c', 'other threads of this person'],
      ['R', 'reply to all'],
      ['f', 'forward'],
      ['v', 'save a file'],
      ['O', 'open a file'],
      ['U', 'undo'],
      ['D', 'drafts'],
      ['S', 'settings'],
      ['o', 'show or hide quoted text'],
      ['] [', 'next and previous thread'],
      ['ctrl-r', 'refresh from the server now'],
    ] as const;
  }

  offers(): readonly Offer[] {
    return offersOn(this.#inbox, this.#list.row);
  }

  copy(): string | undefined {
    return this.#list.row?.id;
  }

  get filter(): ScreenFilter {
    return {
      label: 'search',
      names: this.#list.names,
      text: this.#list.filterText,
      apply: (text) => {
        this.#list.search(text);
        this.#isWide = false;
        this.refresh();
      },
    };
  }

  unmark(): boolean {
    const wasWide = this.#isWide;
    this.#isWide = false;
    return wasWide;
  }
}

const ON_ITS_WAY: readonly (string | null)[] = ['queued', 'scheduled', 'sent', 'delivery_delayed'];

/** Reports whether an answer is still being sent; its thread shows the progress. */
const isOnItsWay = ({ direction, last_event: state }: OpenThread['emails'][number]): boolean =>
  direction === 'outbound' && ON_ITS_WAY.includes(state);

const MEMBERS = 100;

/** Lists the members of the team who may write, with the one whom the thread is assigned to marked. */
async function chooseAssignee(
  host: Host,
  signal: AbortSignal,
  { row, assign }: { row: ThreadRow; assign: (assignee: string | null) => void },
): Promise<void> {
  const title = `Assign: ${clean(row.subject ?? '')}`;
  const dialog = new ChooseDialog(title);
  host.dialog = dialog;
  try {
    const { data, has_more: hasMore } = await host.client.call('listMembers', { query: { limit: MEMBERS } }, signal);
    if (host.dialog !== dialog) return;
    const choose = (assignee: string | null) => (): void => {
      host.dialog = undefined;
      assign(assignee);
    };
    const members = data.filter(({ role }) => role !== 'viewer').map(({ email }) => email);
    const choices: Choice[] = members.toSorted().map((email) => ({
      label: email,
      isOn: email === row.assignee,
      choose: choose(email),
    }));
    if (row.assignee !== null) choices.push({ label: 'nobody', isOn: false, choose: choose(null) });
    if (hasMore || members.length === 0) {
      const done = (text: string): string => {
        if (text === '') return 'Type the address of a member of the team.';
        assign(text);
        return '';
      };
      const says = 'The address of a member of the team:';
      const other = (): void => void (host.dialog = new LineDialog({ title, says, done }));
      choices.push({ label: 'another member …', isOn: false, choose: other });
    }
    dialog.begin(choices);
    host.changed();
  } catch (error) {
    if (host.dialog === dialog) host.dialog = undefined;
    if (!signal.aborted) host.sayFault(error);
  }
}

interface Labelled {
  inbox: string;
  row: ThreadRow;
  done: () => void;
}

/** Lists the labels of the inbox, with those of the thread marked; the choice adds or removes one. */
async function chooseLabels(host: Host, signal: AbortSignal, { inbox, row, done }: Labelled): Promise<void> {
  const { client } = host;
  const dialog = new ChooseDialog(`Labels: ${clean(row.subject ?? '')}`);
  host.dialog = dialog;
  const leave = (): void => {
    if (host.dialog === dialog) host.dialog = undefined;
  };
  try {
    const { data } = await client.call('listInboxLabels', { path: { inbox } }, signal);
    // Does not interrupt a user who has gone on to something else.
    if (host.dialog !== dialog) return;
    if (data.length === 0) {
      leave();
      return host.say(
        'This inbox has no labels yet. To create one, press q to go back to the list of inboxes, then n.',
      );
    }
    const choices = data.map(({ id, name }): Choice => {
      const isOn = row.labels.some((one) => one.id === id);
      const choose = (): void => {
        host.dialog = undefined;
        void change(client, { inbox, thread_id: row.id }, { id, isOn })
          .then(() => host.say(`${isOn ? 'Removed' : 'Added'}  ${clean(name)}`))
          .catch((error: unknown) => host.sayFault(error))
          .then(done);
      };
      return { label: name, isOn, choose };
    });
    dialog.begin(choices);
    host.changed();
  } catch (error) {
    leave();
    if (!signal.aborted) host.sayFault(error);
  }
}

const change = (
  client: Client,
  path: { inbox: string; thread_id: string },
  { id, isOn }: { id: string; isOn: boolean },
): Promise<unknown> =>
  isOn
    ? client.call('removeInboxThreadLabel', { path: { ...path, label_id: id } })
    : client.call('addInboxThreadLabels', { path, body: { labels: [id] } });
