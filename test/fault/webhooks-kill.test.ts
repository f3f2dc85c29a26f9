// suppressions --> rasket serve (killed again and again) --> 20 endpoints
import path from 'node:path';
import { Webhook } from 'svix';
import { expect, it } from 'vitest';
import { openDb } from '../../src/platform/db/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { installBesideReceiver, type Program } from './program.ts';

const ENDPOINTS = 20;
const KILLS = 1 + Math.min(9, scaled(2));
const EVENTS = 8 * KILLS;
const EVENTS_A_CALL = 100;

it(
  'kill -9 loses no event for any endpoint, and a repeated event has the same id and the same bytes',
  { timeout: 300_000 + EVENTS * 100 },
  async () => {
    // The webhooks that a killed process held are taken over soon; with SQLite, at once.
    const { program, receiver } = await installBesideReceiver({ RASKET_WEBHOOKS_LEASE_SECONDS: '1' });
    const api = createApi(await program.listening());
    const secrets = new Map<string, string>();
    for (let n = 0; n < ENDPOINTS; n++) {
      const body = { endpoint: receiver.url(`/${n}`), events: ['suppression.added'] };
      const made = await api('POST', '/webhooks', { key: program.apiKey, body });
      secrets.set(`/${n}`, made.body.signing_secret as string);
    }
    const told = new Set<string>();
    const refused = new Set<string>();
    // Some are refused or broken off the first time, as it happens.
    receiver.reply((response, { path: at, headers }) => {
      const delivery = `${at} ${String(headers['svix-id'])}`;
      const isTrouble = receiver.requests.length % 47 === 0 && !told.has(delivery) && !refused.has(delivery);
      if (isTrouble) refused.add(delivery);
      else told.add(delivery);
      if (!isTrouble) response.writeHead(200).end();
      else if (refused.size % 2 === 0) response.writeHead(500).end();
      else response.socket?.destroy();
    });

    const recorded = record(program);
    const total = EVENTS * ENDPOINTS;
    for (let kill = 1; kill <= KILLS; kill++) {
      await receiver.until(Math.floor((total * kill) / (KILLS + 2)));
      await program.kill();
      await program.start();
    }
    const addresses = await recorded;
    expect(addresses).toHaveLength(EVENTS);
    while (told.size < total) await receiver.until(receiver.requests.length + 1);
    await program.stop();

    const missing: string[] = [];
    const idOf = new Map<string, Set<string>>();
    const arrived = new Set<string>();
    for (const request of receiver.requests) {
      const email = String(request.payload.data.email);
      arrived.add(`${request.path} ${email}`);
      idOf.set(email, (idOf.get(email) ?? new Set()).add(`${request.headers['svix-id']} ${request.body}`));
      new Webhook(secrets.get(request.path) ?? '').verify(request.body, request.headers as Record<string, string>);
    }
    for (const email of addresses) {
      for (let n = 0; n < ENDPOINTS; n++) if (!arrived.has(`/${n} ${email}`)) missing.push(`/${n} ${email}`);
    }
    expect(missing).toEqual([]);
    expect([...idOf.values()].filter((ids) => ids.size !== 1)).toEqual([]);
    expect(new Set([...idOf.values()].flatMap((ids) => [...ids].map((text) => text.split(' ')[0]))).size).toBe(EVENTS);
    const repeated = receiver.requests.length - total;
    console.log(JSON.stringify({ events: EVENTS, endpoints: ENDPOINTS, kills: KILLS, repeated }));
    expect(await lostFromTheBooks(program)).toEqual([]);
  },
);

/** Records events as a careful client does: a batch whose answer was lost is sent again, and changes nothing if it had arrived. */
async function record(program: Program): Promise<string[]> {
  const all: string[] = [];
  for (let from = 0; from < EVENTS; from += EVENTS_A_CALL) {
    const emails = Array.from({ length: Math.min(EVENTS_A_CALL, EVENTS - from) }, (_, n) => `a${from + n}@x.example`);
    for (let status = 0; status !== 201;) {
      const call = createApi(await program.listening());
      const body = { emails };
      const answer = call('POST', '/suppressions/batch/add', { key: program.apiKey, body }).then(
        (got) => got.status,
        () => 0,
      );
      status = await answer;
    }
    all.push(...emails);
  }
  return all;
}

/** Returns the rows that are neither done nor going to be tried again. */
async function lostFromTheBooks(program: Program): Promise<unknown[]> {
  const file = path.join(program.dataDir, 'rasket.db');
  const db = await openDb({ driver, file, url: program.database.url, poolMax: 1 });
  try {
    return await db.all("select * from webhook_events where status <> 'success' and (due_at is null or parked = 1)");
  } finally {
    await db.close();
  }
}
