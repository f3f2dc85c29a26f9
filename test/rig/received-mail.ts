import { createAccept } from '../../src/mail/accept/index.ts';
import { createReceive, heldContent, type Receive } from '../../src/mail/receive/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { Scene } from './scene.ts';

export interface Arriving {
  raw?: string | Buffer;
  mailFrom?: string;
  to?: readonly string[];
}

export const MESSAGE = [
  'From: Someone <someone@example.org>',
  'To: Support <support@example.com>',
  'Subject: A question',
  'Message-ID: <question@example.org>',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Does it work?',
  '--b',
  'Content-Type: image/png; name="dot.png"',
  'Content-Disposition: attachment; filename="dot.png"',
  'Content-Transfer-Encoding: base64',
  '',
  'iVBORw==',
  '--b--',
  '',
].join('\r\n');

/** Stores a message that has arrived for a team, without SMTP; returns its id. */
export async function receiveMail(scene: Scene, team: { id: string }, arriving: Arriving = {}): Promise<string> {
  const { raw = MESSAGE, mailFrom = 'someone@example.org', to = ['support@example.com'] } = arriving;
  const { world } = scene.app;
  const flow =
    flows.get(world) ??
    createReceive(
      world,
      createAccept(world, () => undefined),
      () => undefined,
    );
  flows.set(world, flow);
  const verdict = await flow.receive({
    mailFrom,
    routes: to.map((address) => ({ kind: 'team', teamId: team.id, address })),
    content: heldContent(Buffer.from(raw)),
    client: { address: '192.0.2.1', name: 'mx.example.org' },
  });
  return verdict.kind === 'accepted' ? verdict.id : verdict.kind;
}

const flows = new WeakMap<World, Receive>();
