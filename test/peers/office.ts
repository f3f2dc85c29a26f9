import { createComposer } from '../../src/mail/compose/index.ts';
import type { Config, DeepPartial } from '../../src/platform/config/index.ts';
import { startScene, type Account, type Scene, type Team } from '../rig/scene.ts';
import { startPostfix, type Postfix, type PostfixOptions } from './postfix.ts';
import { startWire, type Wire } from './wire.ts';

export interface Sent {
  id: string;
  messageId: string;
}

export interface Office extends AsyncDisposable {
  scene: Scene;
  postfix: Postfix;
  /** The conversation between the app and Postfix. */
  wire: Wire;
  team: Team;
  domain: { id: string; name: string };
  /** Accepted by the API; ask `scene.settled()` for the rest. */
  send(body: Record<string, unknown>): Promise<Sent>;
  account(sent: Sent): Promise<Account>;
  /** Returns the bytes that were signed for an email, and its envelope sender: composing is repeatable to the byte. */
  signed(sent: Sent): Promise<{ bytes: Buffer; returnPathTo(destination: string): string | undefined }>;
  /** The newest hundred. */
  suppressions(): Promise<string[]>;
  /** Lets every idle connection say goodbye, so that Postfix logs what it was used for. */
  hangUp(): Promise<void>;
}

export interface OfficeOptions {
  postfix?: PostfixOptions;
  delivery?: DeepPartial<Config>['delivery'];
  tls?: 'opportunistic' | 'enforced';
}

/** The real app with one team and one verified domain, whose mail to everywhere goes to a real Postfix. */
export async function openOffice(options: OfficeOptions = {}): Promise<Office> {
  const postfix = await startPostfix(options.postfix);
  const wire = await startWire(postfix.port);
  const scene = await startScene({ config: { delivery: { ...options.delivery, smtp_port: wire.port } } });
  const team = await scene.team();
  const domain = await team.domain();
  const { key } = team;
  if (options.tls) await scene.api('PATCH', `/domains/${domain.id}`, { key, body: { tls: options.tls } });
  const close = async (): Promise<void> => {
    await scene.close();
    await wire.close();
    await postfix.close();
  };
  return {
    scene,
    postfix,
    wire,
    team,
    domain,
    async send(message) {
      const body = { from: `Office <office@${domain.name}>`, subject: 'Hello', text: 'It works.', ...message };
      const { status, text, body: answer } = await scene.api('POST', '/emails', { key, body });
      if (status !== 200) throw new Error(`POST /emails answered ${status}: ${text}`);
      const email = await scene.api('GET', `/emails/${answer.id}`, { key });
      return { id: answer.id as string, messageId: email.body.message_id as string };
    },
    account: (sent) => scene.account(team, sent.id),
    async signed({ id }) {
      const delivery = { id, email_id: id, domain_id: domain.id };
      const batch = await createComposer(scene.app.world).open([delivery]);
      const { content } = await batch.message(delivery, new AbortController().signal);
      const chunks: Buffer[] = [];
      for await (const chunk of content) chunks.push(chunk);
      batch.release(delivery);
      return { bytes: Buffer.concat(chunks), returnPathTo: (destination) => batch.returnPath(id, destination) };
    },
    async suppressions() {
      const { body } = await scene.api<{ data: { email: string }[] }>('GET', '/suppressions?limit=100', { key });
      return body.data.map(({ email }) => email);
    },
    hangUp: () => scene.restart(),
    [Symbol.asyncDispose]: close,
  };
}
