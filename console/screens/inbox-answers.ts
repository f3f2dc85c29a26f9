import { randomUUID } from 'node:crypto';
import type { CallOf } from '../../cli/client/index.ts';
import { inboxEmails, type Action } from '../../cli/families/index.ts';
import { callOf } from '../../cli/input/index.ts';
import type { ThreadEmail } from '../../cli/output/index.ts';
import { ComposeDialog } from '../dialogs/compose-dialog.ts';
import type { Host } from './screen.ts';

interface Answer {
  path: { inbox: string; thread_id: string; inbox_email_id: string };
  email: ThreadEmail;
  isToAll: boolean;
}

interface Written {
  dialog: ComposeDialog;
  emailId: string;
  text: string;
  /** Of what it becomes. */
  done: string;
  after: () => void;
}

/** Answers as they are written. What was put aside, or not sent, is there again. */
export class Answers {
  readonly #host: Host;
  /** By the email that they answer. */
  readonly #aside = new Map<string, string>();
  /** Of answers that were not sent, as far as is known: the same again is the same answer. */
  readonly #keys = new Map<string, string>();

  constructor(host: Host) {
    this.#host = host;
  }

  begin({ path, email, isToAll }: Answer, after: () => void): void {
    const { client } = this.#host;
    const { inbox, thread_id, inbox_email_id: emailId } = path;
    const dialog = new ComposeDialog({
      title: isToAll ? 'Answer to all' : 'Answer',
      head: [`To: ${recipientsOf(email, isToAll)}`],
      text: this.#aside.get(emailId) ?? '',
      leave: (text) => this.#putAside(emailId, text),
      send: (typed) => {
        const text = typed.trimEnd();
        const body = { text, ...(isToAll ? { reply_all: true } : {}) };
        const said = JSON.stringify([emailId, body]);
        const key = this.#keys.get(said) ?? `console-${randomUUID()}`;
        this.#keys.set(said, key);
        const work = client.call(...callOf(replyAction, path, body, key)).then(() => this.#keys.delete(said));
        void this.#finish({ dialog, emailId, text, done: 'Answered', after }, work);
      },
      keep: (text) => {
        const call: CallOf<'createInboxDraft'> = {
          path: { inbox },
          body: { text, thread_id, reply_to_email_id: emailId },
        };
        const work = client.call('createInboxDraft', call);
        void this.#finish({ dialog, emailId, text, done: 'Kept as a draft', after }, work);
      },
    });
    this.#host.dialog = dialog;
  }

  /** A text that was not sent stays where it was written, and is there again when it is left. */
  async #finish({ dialog, emailId, text, done, after }: Written, work: Promise<unknown>): Promise<void> {
    const host = this.#host;
    this.#aside.set(emailId, text);
    try {
      await work;
      this.#aside.delete(emailId);
      if (host.dialog === dialog) host.dialog = undefined;
      host.say(`${done}   (e archives the thread)`);
    } catch (error) {
      await host.faults.ready(error);
      dialog.refuse(`It was not sent: ${host.faults.inWords(error)}`);
      host.changed();
    }
    after();
  }

  #putAside(emailId: string, text: string): void {
    if (text.trim() === '') return void this.#aside.delete(emailId);
    this.#aside.set(emailId, text);
    this.#host.say('What you wrote is here again with r, until you leave this inbox; ctrl-d keeps it as a draft.');
  }
}

function recipientsOf({ direction, reply_to: asked, from, to, cc }: ThreadEmail, isToAll: boolean): string {
  const first = direction === 'outbound' ? to : asked.length > 0 ? asked : [from];
  const others = isToAll ? [...to, ...cc] : [];
  return others.length === 0 ? first.join(', ') : `${first.join(', ')} and ${others.join(', ')}, without this inbox`;
}

const replyAction = inboxEmails.actions.find(({ verb }) => verb === 'reply') as Action;
