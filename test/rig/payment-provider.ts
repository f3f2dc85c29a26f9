/**
 * A payment provider on 127.0.0.1: it has subscriptions, answers with their state, and sends events that it signs.
 * `provider` is the other half, as our program would speak to it over HTTP.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PaymentProvider, ProviderSubscription } from '../../src/features/billing/subscriptions.ts';

export interface SentEvent {
  body: string;
  headers: Record<string, string>;
}

export interface PaymentProviderRig extends AsyncDisposable {
  provider: PaymentProvider;
  /** The current subscription by team. */
  subscriptions: Map<string, ProviderSubscription>;
  /** How often the state was requested. */
  asked: number;
  /** Whether it fails to answer. */
  isDown: boolean;
  /** Returns a signed event about a team; the same id is the same event. */
  event(teamId: string | undefined, options: { at: number; id?: string; secret?: string; data?: object }): SentEvent;
}

const SECRET = 'whsec_of_the_installation';
const HEADER = 'payment-signature';

export async function startPaymentProvider(): Promise<PaymentProviderRig> {
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const teamId = url.searchParams.get('team') ?? '';
    if (url.pathname === '/subscription') rig.asked += 1;
    const answers: Record<string, unknown> = {
      '/subscription': rig.subscriptions.get(teamId) ?? null,
      '/checkout': { url: `https://pay.example/checkout/${teamId}/${url.searchParams.get('plan')}` },
      '/portal': { url: `https://pay.example/portal/${teamId}` },
    };
    response.writeHead(rig.isDown ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(rig.isDown ? { error: 'down' } : answers[url.pathname]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rig: PaymentProviderRig = {
    provider: createClient(base),
    subscriptions: new Map(),
    asked: 0,
    isDown: false,
    event(teamId, { at, id = `evt_${randomUUID()}`, secret = SECRET, data = {} }) {
      const body = JSON.stringify({ id, type: 'subscription.updated', data: { team: teamId, ...data } }, null, 2);
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
      return { body, headers: { [HEADER]: `t=${at},v1=${signature}`, 'content-type': 'application/json' } };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return rig;
}

function createClient(base: string): PaymentProvider {
  const ask = async <Answer>(path: string): Promise<Answer> => {
    const answer = await fetch(`${base}${path}`);
    if (!answer.ok) throw new Error(`the provider answered ${answer.status}`);
    return (await answer.json()) as Answer;
  };
  return {
    name: 'example',
    checkout: async ({ teamId, plan }) =>
      (await ask<{ url: string }>(`/checkout?team=${teamId}&plan=${encodeURIComponent(plan)}`)).url,
    portal: async (teamId) => (await ask<{ url: string }>(`/portal?team=${teamId}`)).url,
    fetchSubscription: async (teamId) =>
      (await ask<ProviderSubscription | null>(`/subscription?team=${teamId}`)) ?? undefined,
    async readEvent({ headers, body }) {
      const [, at = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers[HEADER])) ?? [];
      const wanted = createHmac('sha256', SECRET).update(`${at}.`).update(body).digest();
      if (signature === '' || !timingSafeEqual(Buffer.from(signature, 'hex'), wanted)) return undefined;
      const event = JSON.parse(body.toString('utf8')) as { id: string; data: { team?: string } };
      return { id: event.id, signedAt: Number(at), teamId: event.data.team };
    },
  };
}
