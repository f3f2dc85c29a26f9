import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { mayBeRepeated } from './explain-records.ts';

/** Mail of the name that arrives elsewhere today would no longer: that must be meant. */
export async function mustFreeMx(world: World, name: string, confirmed: boolean, confirmBy: string): Promise<void> {
  // What the development profile receives comes from this machine, not by DNS.
  if (confirmed || world.config.delivery.capture) return;
  const answer = await world.resolver.mx(name, { cache: false });
  if (answer.kind === 'none') return;
  const { host } = world.config.instance;
  const ours = world.config.domains.receiving_mx.replaceAll('{host}', host).toLowerCase();
  const because =
    answer.kind === 'failed'
      ? `The MX of ${name} cannot be looked up (${answer.reason}), so mail may be delivered elsewhere`
      : await elsewhere(world, name, answer.records, ours);
  if (because) throw refuse('receiving_mx_in_use', { say: `${because}; ${confirmBy}` });
}

async function elsewhere(
  world: World,
  name: string,
  records: readonly { host: string }[],
  ours: string,
): Promise<string | undefined> {
  // RFC 7505: a null MX delivers nowhere.
  const others = records.map((mx) => mx.host).filter((host) => host !== '' && host !== ours);
  if (others.length === 0) return undefined;
  if (!(await mayBeRepeated(world, name, 'MX'))) return `Mail for ${name} is delivered to another server today`;
  const [first = ''] = others;
  const more = others.length === 1 ? '' : ` and ${others.length - 1} more`;
  return `Mail for ${name} is delivered to ${first.slice(0, 253)}${more} today`;
}
