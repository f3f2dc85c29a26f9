import { clientKey } from '../../../platform/network/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { isReturn } from '../../../protocol/mail-report/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import type { Authentication } from '../../../resources/received-emails/index.ts';
import { findDomainByName, sendingNames } from '../../../resources/domains/index.ts';
import type { Accept } from '../accept/index.ts';
import { applyRules, type Treatment } from './apply-rules.ts';
import { createGreylist, type Greylist } from './greylist.ts';
import { contentKey, createForwarder, type Forwarder, type Onward, type Passing } from './forwarder.ts';
import { createAuthenticator } from './authenticator.ts';
import type { Arrival } from './inbound-message.ts';
import { judge } from './judge.ts';
import { routeRecipient, type Route } from './route-recipient.ts';
import { standstills } from './standstill.ts';
import type { Verdict } from './verdict.ts';
import { takeReturned } from './take-returned.ts';
import { createStoreMessage, type Received } from './store-message.ts';

export interface Receive {
  /** Where mail to this address goes, if it is taken at all. */
  route(address: string): Promise<Route>;
  /** Whether whoever calls has to come again first (greylisting). */
  greylist: Greylist;
  /** Resolves when everything that comes of the message is synced; `id` is for the log of whoever sent it. */
  receive(arrival: Arrival): Promise<Verdict>;
  close(): Promise<void>;
}

/** `wakeQueue` is told when there is mail to deliver that no accept has brought. */
export function createReceive(world: World, accept: Accept, wakeQueue: () => void): Receive {
  const { read, store, close } = createStoreMessage(world);
  const authenticator = createAuthenticator(world);
  const forwarder = createForwarder(world, accept);

  async function take(arrival: Arrival, reading: MessageReading, judged: Judged): Promise<Verdict> {
    const { authentication, virus } = judged;
    // Every team's rules are asked, and whether their forwards may go, before anything is stored.
    const treatments: Treatment[] = [];
    for (const [teamId, addresses] of teamsOf(arrival)) treatments.push(await applyRules(world, teamId, addresses));
    const isClean = virus === undefined;
    const refusal = isClean ? await mayNotAllPass(forwarder, arrival, treatments) : undefined;
    if (refusal) return notPassedOn(refusal);
    await takeReturned(world, arrival, reading, wakeQueue);
    const toStore = treatments.filter(({ kept }) => kept.length > 0);
    const received = await store(
      {
        ...arrival,
        authentication,
        teams: new Map(toStore.map(({ teamId, kept }) => [teamId, kept])),
        withoutContent: new Set(toStore.flatMap((one) => (one.isWithoutContent ? [one.teamId] : []))),
        notForwarded: await standstills(world, arrival.raw, toStore),
        hasVirus: !isClean,
      },
      reading,
    );
    const passing = { arrival, reading, checks: authentication };
    const steps = isClean ? [...onwards(received, toStore), ...returns(arrival)] : [];
    const late = await passAll(world, forwarder, passing, steps);
    if (late) return notPassedOn(late);
    return { kind: 'taken', id: received[0]?.id ?? world.ids.uuid() };
  }

  return {
    route: (address) => routeRecipient(world, address),
    greylist: createGreylist(world),
    async receive(arrival) {
      const reading = await read(clientKey(arrival.client.address), arrival.raw);
      const recipients = arrival.routes.flatMap((route) =>
        route.kind === 'team' || route.kind === 'rewritten' ? [route.address] : [],
      );
      if (recipients.length === 0) return takeReturned(world, arrival, reading, wakeQueue);
      const isPassedBack = arrival.routes.some(({ kind }) => kind === 'rewritten');
      if (isPassedBack && !isReturn(reading)) return { kind: 'no_return' };
      const judgement = await judge(world, authenticator, arrival, recipients);
      if (judgement.kind === 'refuse') return { kind: 'refused', domain: judgement.domain };
      if (judgement.kind === 'defer') return { kind: 'deferred', deferral: judgement.deferral };
      const { virus } = judgement;
      if (virus !== undefined) world.log.warn({ virus, mailFrom: arrival.mailFrom }, 'a virus came in');
      return take(arrival, reading, judgement);
    },
    close: async () => void (await Promise.all([close(), authenticator.close()])),
  };
}

const notPassedOn = (refusal: Refusal): Verdict => ({
  kind: 'deferred',
  deferral: { why: 'not_passed_on', refusal },
});

interface Judged {
  authentication: Authentication;
  virus: string | undefined;
}

function teamsOf(arrival: Arrival): Map<string, string[]> {
  const teams = new Map<string, string[]>();
  for (const route of arrival.routes) {
    if (route.kind === 'team') teams.set(route.teamId, [...(teams.get(route.teamId) ?? []), route.address]);
  }
  return teams;
}

/** Asked before anything is stored: of a message that comes again and again, nothing should stand there each time. */
async function mayNotAllPass(
  forwarder: Forwarder,
  { routes }: Arrival,
  treatments: readonly Treatment[],
): Promise<Refusal | undefined> {
  const teams = [
    ...treatments.flatMap(({ teamId, forwards }) => (forwards.length > 0 ? [teamId] : [])),
    ...routes.flatMap((route) => (route.kind === 'rewritten' ? [route.teamId] : [])),
  ];
  for (const teamId of new Set(teams)) {
    const refusal = await forwarder.mayNotPass(teamId);
    if (refusal) return refusal;
  }
  return undefined;
}

type Step = Omit<Onward, 'domain'> & { domain: { name: string } };

function onwards(received: readonly Received[], treatments: readonly Treatment[]): Step[] {
  return treatments.flatMap(({ teamId, forwards }) => {
    const id = received.find((one) => one.teamId === teamId)?.id ?? '';
    return forwards.map(({ rule, addresses, targets }): Step => {
      const [address = ''] = addresses;
      const tags = [
        { name: 'inbound_rule', value: rule.id },
        { name: 'received_email', value: id },
      ];
      const domain = { name: address.slice(address.lastIndexOf('@') + 1).toLowerCase() };
      return { teamId, address, domain, targets, sender: 'rewritten', tags, key: `${id} ${rule.id}` };
    });
  });
}

/** Bounces of what was passed on go back to whoever sent it, and to nobody else. */
const returns = ({ routes, raw }: Arrival): Step[] =>
  routes.flatMap((route): Step[] => {
    if (route.kind !== 'rewritten') return [];
    const { teamId, address, sender, domainName: name } = route;
    const key = contentKey(raw, address);
    return [{ teamId, address, domain: { name }, targets: [sender], sender: 'empty', tags: [], key }];
  });

/** Answers why one of them has to come again. */
async function passAll(
  world: World,
  forwarder: Forwarder,
  passing: Passing,
  steps: readonly Step[],
): Promise<Refusal | undefined> {
  let refusal: Refusal | undefined;
  for (const {
    domain: { name },
    ...step
  } of steps) {
    const domain = await findDomainByName(world.db, step.teamId, name);
    const [sending] = domain ? await sendingNames(world.db, [domain.id]) : [];
    if (!sending) continue;
    const returnPathDomain = `${sending.custom_return_path}.${sending.name}`;
    const passed = await forwarder.pass(passing, { ...step, domain: { id: sending.id, returnPathDomain } });
    if (passed instanceof Refusal) refusal = passed;
  }
  return refusal;
}
