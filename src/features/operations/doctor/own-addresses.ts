import { createAddressGuard } from '../../../platform/network/index.ts';
import { localAddress } from '../../../platform/probe/index.ts';
import type { Inspection } from '../../../platform/resolver/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { directRegions, isIPv6, type OwnAddresses } from './check.ts';

/**
 * Those of the settings; where the system chooses, those that instance.host leads to, as behind a NAT, and the one that the
 * system would choose, where that is public.
 */
export async function findOwnAddresses(world: World, ask: Inspection['resolve']): Promise<OwnAddresses> {
  const { config } = world;
  const regions = directRegions(world);
  const isPublic = createAddressGuard([...config.network.mail_allow_private]);
  const named = regions.flatMap(({ source_v4: v4, source_v6: v6 }) => [v4, v6]).filter((address) => address !== '');
  const chosen = await Promise.all([
    regions.some(({ source_v4: v4 }) => v4 === '') ? localAddress(4) : undefined,
    regions.some(({ source_v6: v6 }) => v6 === '') ? localAddress(6) : undefined,
  ]);
  const isChosen = regions.some(({ source_v4: v4, source_v6: v6 }) => v4 === '' || v6 === '');
  const [a, aaaa] = await Promise.all([ask(config.instance.host, 'A'), ask(config.instance.host, 'AAAA')]);
  const ofHost = [a, aaaa].flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const free = (address: string): boolean =>
    regions.some(({ source_v4: v4, source_v6: v6 }) => (isIPv6(address) ? v6 : v4) === '');
  const all = [...named, ...ofHost.filter(free), ...chosen.filter((address) => address !== undefined)];
  const addresses = [...new Set(all.filter(isPublic))];
  const failed = [a, aaaa].find((answer) => answer.kind === 'failed');
  if (isChosen && failed?.kind === 'failed')
    return { addresses, unknown: `the addresses of ${config.instance.host}: ${failed.reason}` };
  if (addresses.length > 0) return { addresses, unknown: undefined };
  const where = `${config.instance.host} leads to no public address, and the system has none`;
  return { addresses, unknown: `which addresses mail is sent from: ${where}` };
}
