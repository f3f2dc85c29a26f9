import { openDialogue, type Dialogue } from './smtp-dialogue.ts';
import type { Scene, Team } from './scene.ts';

/** Returns the port on which the scene accepts mail from other servers. */
export function mxPort(scene: Scene): number {
  const port = scene.app.smtp?.listening.find(({ doors }) => doors.includes('receiving'))?.port;
  if (port === undefined) throw new Error('this scene receives no mail; start it with the role receiving');
  return port;
}

export const callMx = (scene: Scene): Promise<Dialogue> => openDialogue(mxPort(scene));

export interface Letter {
  from?: string;
  to: readonly string[];
  /** The content, with CRLF at the end of each line. */
  raw: string | Buffer;
  isTls?: boolean;
}

export const dotted = (raw: string | Buffer): Buffer => {
  const text = Buffer.from(raw)
    .toString('latin1')
    .replaceAll(/(^|\r\n)\./g, '$1..');
  return Buffer.from(`${text}${text === '' || text.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1');
};

/** Delivers one message to the MX port as a mail server does; returns the reply to the last command. */
export async function bringMail(
  scene: Scene,
  { from = 'someone@example.org', to, raw, isTls }: Letter,
): Promise<string> {
  const client = await callMx(scene);
  try {
    await client.hear();
    await client.say('EHLO mx.example.org');
    if (isTls) {
      await client.say('STARTTLS');
      await client.startTls();
      await client.say('EHLO mx.example.org');
    }
    let reply = await client.say(`MAIL FROM:<${from}>`);
    if (!reply.startsWith('250')) return reply;
    let taken = 0;
    for (const address of to) {
      reply = await client.say(`RCPT TO:<${address}>`);
      if (reply.startsWith('250')) taken++;
    }
    if (taken === 0) return reply;
    await client.say('DATA');
    return await client.say(dotted(raw));
  } finally {
    client.end();
  }
}

/** Creates a domain of the team that receives. */
export async function createReceivingDomain(
  scene: Scene,
  team: Team,
  name?: string,
): Promise<{ id: string; name: string }> {
  const domain = await team.domain(name);
  const body = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body });
  return domain;
}
