import { createHash, randomUUID } from 'node:crypto';
import { ApiFault, type AnswerOf, type CallOf } from '../../cli/client/index.ts';
import { answeringInWords, inboxEmails, type Action, type Body } from '../../cli/families/index.ts';
import { buildCall, editWithEditor, findEditor } from '../../cli/input/index.ts';
import { formatEmailBody, formatEmailHead, quote, type ThreadEmail } from '../../cli/output/index.ts';
import { LineDialog, PickDialog } from '../dialogs/dialog.ts';
import { ComposeDialog, EMPTY_EMAIL, readPaths, type Composer, type WrittenEmail } from '../dialogs/compose-dialog.ts';
import { readForm } from '../perform-action.ts';
import type { Host } from './screen.ts';
import { shortTime, type ThreadRow } from './thread-list.ts';

export type Kind = 'reply' | 'reply to all' | 'forward';

const TITLES: Readonly<Record<Kind, string>> = { reply: 'Answer', 'reply to all': 'Reply to all', forward: 'Forward' };
const DONE: Readonly<Record<Kind, string>> = { reply: 'Answered', 'reply to all': 'Answered', forward: 'Forwarded' };
const KEYS: Readonly<Record<Kind, string>> = { reply: 'r', 'reply to all': 'R', forward: 'f' };

interface Begun {
  path: { inbox: string; thread_id: string; inbox_email_id: string };
  email: ThreadEmail;
  kind: Kind;
  /** The inbox that it is sent from, if it is known. */
  inbox: Pick<AnswerOf<'getInbox'>, 'email_address' | 'receiving_address' | 'signature'> | undefined;
  /** The subject of the thread. */
  subject: string;
  /** The thread has a draft, which may be of this reply. */
  hasDraft: boolean;
  /** The emails of the thread that the writer has seen. */
  emails: readonly ThreadEmail[];
  /** Says who else is answering now. */
  others: () => string;
}

/** The draft that a reply continues. */
interface Draft {
  id: string;
  /** The version that was loaded or saved last. */
  updatedAt: string;
  written: WrittenEmail;
  /** The names of its files, which are sent unless others are named. */
  files: readonly string[];
}

/** A reply that the others can see is being written. */
interface Announced {
  path: { inbox: string; thread_id: string };
  at: number;
}

/** Emails among which a reply of somebody else is looked for, before one is sent. */
const NEWEST = 5;
/** Drafts are not listed by thread; those of an inbox with more drafts than this are found on their own screen. */
const DRAFT_PAGES_MAX = 10;
/** An announcement ends after two minutes; it is renewed well before. */
const ANNOUNCE_MS = 40_000;

const findAction = (kind: Kind): Action =>
  inboxEmails.actions.find(({ verb }) => verb === (kind === 'forward' ? 'forward' : 'reply')) as Action;

/** Emails while they are written. A text that was put aside, or not sent, is restored. */
export class Composing {
  readonly #host: Host;
  /** Texts by the email that they answer or forward. */
  readonly #aside = new Map<string, WrittenEmail>();
  /** Keys of emails that were not sent, as far as is known: sending the same again is the same email. */
  readonly #keys = new Map<string, string>();
  /** Drafts that are continued, by the email that they answer. */
  readonly #drafts = new Map<string, Draft>();
  #announced: Announced | undefined;
  #told: Promise<unknown> = Promise.resolve();

  constructor(host: Host) {
    this.#host = host;
  }

  begin(begun: Begun, after: () => void): void {
    const { email, kind } = begun;
    const id = `${kind === 'forward' ? 'forward' : 'reply'} ${email.id}`;
    // A warning that was shown is not repeated: sending again means it.
    let warned = '';
    /** Names a draft of the thread that cannot be continued here. */
    let hint = '';
    const finish = (written: WrittenEmail, done: string, work: () => Promise<unknown>): void =>
      void this.#finish({ dialog, id, written, done, after }, work);
    const dialog: ComposeDialog = new ComposeDialog({
      title: TITLES[kind],
      head: () => [...describeHead(begun), ...describeDraft(this.#drafts.get(id), hint)],
      below: linesBelow(begun),
      subject: describeSubject(begun),
      fields: kind === 'forward' ? ['to', 'cc', 'bcc', 'subject', 'files'] : ['cc', 'bcc', 'subject', 'files'],
      written: this.#aside.get(id) ?? EMPTY_EMAIL,
      leave: (written) => {
        this.#withdraw();
        this.#putAside(id, kind, written);
      },
      send: (written) =>
        finish(written, `${DONE[kind]}   (e archives the thread)`, async () => {
          const warning = kind === 'forward' ? '' : await this.#findWarning(begun);
          const isNew = warning !== '' && warning !== warned;
          warned = warning;
          if (isNew) throw new Warning(`${warning} Ctrl-S again sends yours all the same.`);
          const draft = this.#drafts.get(id);
          if (draft) await this.#sendDraft(begun, written, { id, draft });
          else await this.#send(begun, written);
        }),
      ...(kind === 'forward'
        ? {}
        : {
            keep: (written: WrittenEmail) =>
              finish(written, 'Saved as a draft   (r continues it)', async () => {
                const draft = this.#drafts.get(id);
                if (draft) await this.#saveDraft(begun, written, { id, draft });
                else await this.#keep(begun, written);
                this.#drafts.delete(id);
                this.#withdraw();
              }),
          }),
      edit: (composer) => void this.#edit(begun, composer),
      offer: (composer) => void new Templates(this.#host, begun.path, { composer, dialog }).offer(),
    });
    this.#host.dialog = dialog;
    if (kind === 'forward') return;
    this.#announce(begun.path);
    if (!begun.hasDraft || this.#aside.has(id)) return;
    dialog.isAsking = true;
    void this.#loadDraft(begun)
      .then((found) => {
        if (typeof found === 'object') this.#drafts.set(id, found);
        else hint = found;
        dialog.begin(typeof found === 'object' ? found.written : EMPTY_EMAIL);
      })
      .catch((error: unknown) => {
        dialog.begin(EMPTY_EMAIL);
        dialog.refuse(`The draft could not be loaded: ${this.#host.faults.inWords(error)}`);
      })
      .then(() => this.#host.changed());
  }

  /** Returns the newest draft of this reply, or a hint if the only drafts of the thread cannot be continued here. */
  async #loadDraft(begun: Begun): Promise<Draft | string> {
    const { inbox, thread_id, inbox_email_id } = begun.path;
    const { client } = this.#host;
    let hint = '';
    let after: string | undefined;
    for (let pages = 0; pages < DRAFT_PAGES_MAX; pages++) {
      const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const page: AnswerOf<'listInboxDrafts'> = await client.call('listInboxDrafts', { path: { inbox }, query });
      for (const { id } of page.data.filter((one) => one.thread_id === thread_id)) {
        const draft = await client.call('getInboxDraft', { path: { inbox, draft_id: id } });
        const isOther = draft.reply_to_email_id !== inbox_email_id;
        if (!isOther && draft.html === null) return readDraft(begun, draft);
        const what = isOther ? 'answers another email of this thread' : 'has HTML, which cannot be edited here';
        if (hint === '') hint = `A draft ${what}; D lists it.`;
      }
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) break;
    }
    return hint;
  }

  /** Renews the announcement of a reply while it is written, also if the server no longer has it. */
  renew(find: (threadId: string) => ThreadRow | undefined): void {
    const announced = this.#announced;
    if (!announced || !this.#host.dialog) return;
    const row = find(announced.path.thread_id);
    const isGone = row !== undefined && !row.answering.some(({ is_caller: isCaller }) => isCaller);
    if (isGone || Date.now() - announced.at > ANNOUNCE_MS) this.#announce(announced.path);
  }

  /** Keys of the API belong to nobody, so that nothing is announced with one. Replies are written without it as well. */
  #announce({ inbox, thread_id }: Announced['path']): void {
    if (!this.#host.isPerson) return;
    const path = { inbox, thread_id };
    this.#announced = { path, at: Date.now() };
    this.#tell(() => this.#host.client.call('announceInboxAnswer', { path }));
  }

  #withdraw(): void {
    const path = this.#announced?.path;
    this.#announced = undefined;
    if (path) this.#tell(() => this.#host.client.call('withdrawInboxAnswer', { path }));
  }

  /** Makes these calls one after the other: an announcement that arrives late would stay. */
  #tell(call: () => Promise<unknown>): void {
    this.#told = this.#told.then(call).catch(() => undefined);
  }

  /** Says who else is answering, and whether somebody has answered since the composer was opened. */
  async #findWarning({ path: { inbox, thread_id }, emails, others }: Begun): Promise<string> {
    const { client } = this.#host;
    const path = { inbox, thread_id };
    // The check is a courtesy: without a response, sending itself reports the fault.
    const [page, thread] = await Promise.all([
      client.call('listInboxThreadEmails', { path, query: { limit: NEWEST } }).catch(() => undefined),
      client.call('getInboxThread', { path }).catch(() => undefined),
    ]);
    const sent = page?.data.find(
      ({ id, direction }) => direction === 'outbound' && !emails.some((one) => one.id === id),
    );
    if (sent) return 'Somebody has replied in this thread while you were writing.';
    const said = thread ? answeringInWords(thread) : others();
    return said === '' ? '' : `${said} too.`;
  }

  async #send(begun: Begun, written: WrittenEmail): Promise<void> {
    const { path, kind } = begun;
    const body = { ...(await this.#read(begun, written)), ...(kind === 'reply to all' ? { reply_all: true } : {}) };
    const said = createHash('sha256')
      .update(JSON.stringify([kind, path.inbox_email_id, body]))
      .digest('base64url');
    const key = this.#keys.get(said) ?? `console-${randomUUID()}`;
    this.#keys.set(said, key);
    await this.#whileWithdrawn(() => this.#host.client.call(...buildCall(findAction(kind), path, body, key)));
    this.#keys.delete(said);
  }

  async #keep(begun: Begun, written: WrittenEmail): Promise<void> {
    const { inbox, thread_id, inbox_email_id } = begun.path;
    // A draft has no "reply to all": it names everybody.
    const cc = joinMailboxes(written.cc, listCopies(begun));
    const body = { ...(await this.#read(begun, { ...written, cc })), thread_id, reply_to_email_id: inbox_email_id };
    await this.#host.client.call('createInboxDraft', { path: { inbox }, body } as CallOf<'createInboxDraft'>);
  }

  /** Changes the draft to what was written; refuses once if somebody else has changed, sent or deleted it. */
  async #saveDraft(begun: Begun, written: WrittenEmail, { id, draft }: { id: string; draft: Draft }): Promise<void> {
    const { client } = this.#host;
    const path = { inbox: begun.path.inbox, draft_id: draft.id };
    const read = (): Promise<AnswerOf<'getInboxDraft'> | undefined> =>
      client.call('getInboxDraft', { path }).catch((error: unknown) => {
        if (error instanceof ApiFault && error.status === 404) return undefined;
        throw error;
      });
    const found = await read();
    if (!found || found.email_id !== null) {
      this.#drafts.delete(id);
      const how = found ? 'sent already' : 'deleted in the meantime';
      throw new Warning(`The draft was ${how}. Ctrl-S again sends this text as another reply.`);
    }
    if (found.updated_at !== draft.updatedAt) {
      draft.updatedAt = found.updated_at;
      throw new Warning(
        'The draft was changed by somebody else while you were writing. Press the key again to replace it.',
      );
    }
    const body = { cc: [], bcc: [], subject: null, ...(await this.#read(begun, written)) };
    await client.call('updateInboxDraft', { path, body } as CallOf<'updateInboxDraft'>);
    draft.updatedAt = (await read())?.updated_at ?? draft.updatedAt;
  }

  async #sendDraft(begun: Begun, written: WrittenEmail, { id, draft }: { id: string; draft: Draft }): Promise<void> {
    await this.#saveDraft(begun, written, { id, draft });
    const path = { inbox: begun.path.inbox, draft_id: draft.id };
    await this.#whileWithdrawn(async () => {
      await this.#host.client.call('sendInboxDraft', { path, body: { unchanged_since: draft.updatedAt } });
    });
    this.#drafts.delete(id);
  }

  /** The server ends the announcement with what is sent; another one must not arrive after it. */
  async #whileWithdrawn(send: () => Promise<unknown>): Promise<void> {
    const announced = this.#announced;
    this.#announced = undefined;
    await this.#told;
    try {
      await send();
    } catch (error) {
      if (announced) this.#announce(announced.path);
      throw error;
    }
  }

  /** Returns the body of an email, with its files read. Fields that are empty are left to the server. */
  #read({ path, kind }: Begun, { text, to, cc, bcc, subject, files }: WrittenEmail): Promise<Body> {
    const fields = {
      to: splitMailboxes(to),
      text: text.trimEnd(),
      cc: splitMailboxes(cc),
      bcc: splitMailboxes(bcc),
      subject,
      attachments: readPaths(files),
    };
    const named = Object.entries(fields).filter(([, value]) => value.length > 0);
    return readForm(this.#host.client, findAction(kind), path, {
      fields: Object.fromEntries(named),
      files: {},
      cleared: {},
    });
  }

  /** A text that was not sent stays in the dialog, and is restored when that is left. */
  async #finish({ dialog, id, written, done, after }: Finished, work: () => Promise<unknown>): Promise<void> {
    const host = this.#host;
    this.#aside.set(id, written);
    try {
      await work();
      this.#aside.delete(id);
      if (host.dialog === dialog) host.dialog = undefined;
      host.say(done);
    } catch (error) {
      await host.faults.ready(error);
      dialog.refuse(error instanceof Warning ? error.message : `The email was not sent: ${host.faults.inWords(error)}`);
      host.changed();
    }
    after();
  }

  #putAside(id: string, kind: Kind, written: WrittenEmail): void {
    const begun = this.#drafts.get(id)?.written ?? EMPTY_EMAIL;
    if (isSame(written, begun)) {
      this.#drafts.delete(id);
      return void this.#aside.delete(id);
    }
    this.#aside.set(id, written);
    const draft = kind === 'forward' ? '' : '; ctrl-d then saves it as a draft';
    this.#host.say(`Press ${KEYS[kind]} to continue the text, until you leave this inbox${draft}.`);
  }

  async #edit({ email, kind }: Begun, composer: Composer): Promise<void> {
    const { env, terminal, faults } = this.#host;
    try {
      findEditor(env);
      composer.wait('The editor is open …');
      const how = kind === 'forward' ? 'forwards' : 'quotes';
      const below = [
        `# Write above the scissors line. Nothing below it is sent: the server ${how} the email itself.`,
        '',
        ...formatEmailHead({ ...terminal, isTty: true }, email).map((line) => `# ${line}`),
        '',
        quote(formatEmailBody(email)),
      ];
      await this.#host.lendTerminal(async () => {
        composer.replace(await editWithEditor(env, { begin: composer.text, below }));
      });
      composer.release();
    } catch (error) {
      composer.refuse(faults.inWords(error));
    }
    this.#host.changed();
  }
}

/** Something that the writer should know before an email is sent. */
class Warning extends Error {}

interface Finished {
  dialog: ComposeDialog;
  id: string;
  written: WrittenEmail;
  /** The message after it was sent or stored. */
  done: string;
  after: () => void;
}

/** Returns the subject as the server forms it, unless it has such a prefix already. */
const describeSubject = ({ kind, subject }: Begun): string =>
  (kind === 'forward' ? /^fwd?:/i : /^re:/i).test(subject)
    ? subject
    : `${kind === 'forward' ? 'Fwd' : 'Re'}: ${subject}`;

function describeHead(begun: Begun): string[] {
  const { email, kind, others } = begun;
  if (kind === 'forward') {
    const files = email.attachments.map(({ filename }) => filename ?? 'a file');
    return [describeSubject(begun), ...(files.length > 0 ? [`with ${files.join(', ')}`] : [])];
  }
  return [`To: ${listRecipients(begun).join(', ')}`, ...(others() === '' ? [] : [`${others()} too.`])];
}

function describeDraft(draft: Draft | undefined, hint: string): string[] {
  if (!draft) return hint === '' ? [] : [hint];
  const files = draft.files.length > 0 ? `, with ${draft.files.join(', ')} unless you name other files` : '';
  return [`This continues the draft of ${shortTime(draft.updatedAt)}${files}.`];
}

/** Returns a draft as it is edited; a reply to all names everybody. */
function readDraft(begun: Begun, draft: AnswerOf<'getInboxDraft'>): Draft {
  const { id, updated_at: updatedAt, text, cc, bcc, subject, attachments } = draft;
  const written = {
    ...EMPTY_EMAIL,
    text: text ?? '',
    cc: joinMailboxes(cc.join(', '), listCopies(begun)),
    bcc: bcc.join(', '),
    subject: subject ?? '',
  };
  return { id, updatedAt, written, files: attachments.map(({ filename }) => filename) };
}

/** Reports whether two emails are the same, apart from blanks at the ends of the texts. */
const isSame = (one: WrittenEmail, other: WrittenEmail): boolean =>
  (Object.keys(EMPTY_EMAIL) as (keyof WrittenEmail)[]).every((field) => one[field].trim() === other[field].trim());

/** Lists who gets a copy of a reply to all, besides those whom a reply goes to. */
function listCopies(begun: Begun): string[] {
  const first = listRecipients({ ...begun, kind: 'reply' }).map(bare);
  return listRecipients(begun).filter((one) => !first.includes(bare(one)));
}

/** Adds those mailboxes to a typed list that it does not name yet. */
function joinMailboxes(typed: string, more: readonly string[]): string {
  const named = splitMailboxes(typed);
  const known = named.map(bare);
  return [...named, ...more.filter((one) => !known.includes(bare(one)))].join(', ');
}

/** Splits a list at its commas, except those in quoted names. */
const splitMailboxes = (typed: string): string[] =>
  [...typed.matchAll(/(?:"(?:\\.|[^"\\])*"|[^,])+/g)].map(([one]) => one.trim()).filter((one) => one !== '');

/** Lines of the quote that are shown below the text. */
const QUOTE_SHOWN = 2;

/** Describes what the server puts below the text; a signature takes one line, so that there is room for the quote. */
function linesBelow({ email, kind, inbox }: Begun): string[] {
  const isForward = kind === 'forward';
  const signature = (inbox?.signature ?? '').split('\n').filter((line) => line.trim() !== '');
  const quoted = formatEmailBody(email).split('\n');
  const more = quoted.length - QUOTE_SHOWN;
  return [
    ...(signature.length > 0 ? [`-- ${signature.join(' · ')}`] : []),
    ...(isForward ? [`Forwarded message from ${email.from}`] : []),
    ...quoted.slice(0, QUOTE_SHOWN).map((line) => (isForward ? `  ${line}` : `> ${line}`)),
    ...(more > 0 ? [`  … ${more} more lines`] : []),
  ];
}

/** Lists who gets a reply, as the server chooses them: never the inbox itself. */
function listRecipients({ email, kind, inbox }: Begun): string[] {
  const { direction, reply_to: asked, from, to, cc } = email;
  const first = direction === 'outbound' ? to : asked.length > 0 ? asked : [from];
  const own = [inbox?.email_address, inbox?.receiving_address].flatMap((address) => (address ? [bare(address)] : []));
  const others = kind === 'reply to all' ? [...to, ...cc].filter((one) => !own.includes(bare(one))) : [];
  return [...new Map([...first, ...others].toReversed().map((one) => [bare(one), one])).values()].toReversed();
}

/** Returns the address of a mailbox for comparison, without a tag after a plus sign. */
const bare = (mailbox: string): string =>
  (/<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox)
    .trim()
    .toLowerCase()
    .replace(/\+[^@]*(?=@)/, '');

const PAGE = 100;
/** More templates than somebody would look through; the others are found by their alias at the command line. */
const TEMPLATES_MAX = 2000;

/** Published templates with an alias, one of which is filled in and inserted into an email. */
class Templates {
  readonly #host: Host;
  readonly #path: Begun['path'];
  readonly #composer: Composer;
  readonly #dialog: ComposeDialog;

  constructor(host: Host, path: Begun['path'], { composer, dialog }: { composer: Composer; dialog: ComposeDialog }) {
    this.#host = host;
    this.#path = path;
    this.#composer = composer;
    this.#dialog = dialog;
  }

  async offer(): Promise<void> {
    const host = this.#host;
    const leave = (): void => void (host.dialog = this.#dialog);
    const empty = 'There are no published templates with an alias yet. Create one in :templates.';
    const picker = new PickDialog({ title: 'Insert a template', empty, leave });
    host.dialog = picker;
    try {
      const found = await this.#load();
      // Does not interrupt a user who has gone on to something else.
      if (host.dialog !== picker) return;
      const picks = found.map(({ alias, name }) => ({ name: alias, says: name, choose: () => this.#choose(alias) }));
      picker.begin(picks);
    } catch (error) {
      if (host.dialog === picker) leave();
      this.#composer.refuse(host.faults.inWords(error));
    }
    host.changed();
  }

  async #load(): Promise<{ alias: string; name: string }[]> {
    const { client } = this.#host;
    const found: { alias: string; name: string }[] = [];
    let after: string | undefined;
    do {
      const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const { data, has_more: hasMore }: AnswerOf<'listTemplates'> = await client.call('listTemplates', { query });
      for (const { alias, name, published_at: at } of data)
        if (alias !== null && at !== null) found.push({ alias, name });
      after = hasMore ? data.at(-1)?.id : undefined;
    } while (after !== undefined && found.length < TEMPLATES_MAX);
    return found.toSorted((one, other) => (one.alias < other.alias ? -1 : 1));
  }

  #choose(alias: string): void {
    this.#host.dialog = this.#dialog;
    void this.#insert(alias, {});
  }

  /** Inserts the rendered text; values that the thread does not have are asked for. */
  async #insert(alias: string, variables: Record<string, string | number>): Promise<void> {
    const { client, faults } = this.#host;
    this.#composer.wait('Filling in the template …');
    try {
      const body = { template: { id: alias, variables } };
      const { text } = await client.call('renderInboxTemplate', { path: this.#path, body });
      this.#composer.release();
      this.#composer.insert(text.trimEnd());
    } catch (error) {
      const missing = findMissing(error);
      if (missing === undefined) this.#composer.refuse(faults.inWords(error));
      else await this.#ask(alias, missing, variables);
    }
    this.#host.changed();
  }

  async #ask(alias: string, key: string, variables: Record<string, string | number>): Promise<void> {
    const host = this.#host;
    const { variables: declared } = await host.client
      .call('getTemplate', { path: { template: alias } })
      .catch(() => ({ variables: [] }));
    this.#composer.release();
    if (host.dialog !== this.#dialog) return;
    const isNumber = declared.find((one) => one.key === key)?.type === 'number';
    const done = (text: string): string => {
      if (text === '') return `Type a value for ${key}.`;
      if (isNumber && !Number.isFinite(Number(text))) return `${key} must be a number.`;
      host.dialog = this.#dialog;
      void this.#insert(alias, { ...variables, [key]: isNumber ? Number(text) : text });
      return '';
    };
    const leave = (): void => void (host.dialog = this.#dialog);
    host.dialog = new LineDialog({ title: `Template ${alias}`, says: `${key}:`, done, leave });
  }
}

/** Returns the first value that a template lacks, if the call was refused for nothing else. */
function findMissing(error: unknown): string | undefined {
  const faults = error instanceof ApiFault ? (error.body.errors ?? []) : [];
  const keys = faults.map(({ path, message }) =>
    message.includes(' is missing;') ? /^template\.variables\.(\w+)$/.exec(path)?.[1] : undefined,
  );
  return keys.includes(undefined) ? undefined : keys[0];
}
