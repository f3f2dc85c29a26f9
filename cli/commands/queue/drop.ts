import type { BodyOf } from '../../client/index.ts';
import { drop } from '../../families/queue.ts';
import { CliFault } from '../../output/index.ts';
import { mustBeConfirmed } from '../confirm.ts';
import { readFlags } from '../read-flags.ts';
import type { Session } from '../declare.ts';

interface DropOptions extends Readonly<Record<string, unknown>> {
  destination?: string;
  team?: string;
  email?: string;
  yes?: boolean;
}

/** Whatever is named has to be typed once more. */
export async function dropQueue(session: Session, options: DropOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { destination, team, email } = options;
  const named = [destination, team, email].filter((word) => word !== undefined);
  const [name = ''] = named;
  if (named.length !== 1)
    throw new CliFault('name what to drop by exactly one of --destination, --team and --email', 'usage');
  const body = readFlags(drop.flags, options) as BodyOf<'dropQueue'>;
  await mustBeConfirmed(session, options, {
    says: drop.destroysNamed?.(body)?.says ?? '',
    name: () => Promise.resolve(name),
  });
  const answer = await client.call('dropQueue', { body });
  if (isJson) return terminal.printJson(answer);
  terminal.print(`${answer.deliveries} dropped.`);
  if (answer.left > 0) terminal.hint(`${answer.left} are under way or were handed over, and stay.`);
}
