import { usedRelays, type RelaySettings } from '../../../../platform/config/index.ts';
import { buildFinding } from '../../../../platform/finding.ts';
import { examineRelay, readRelay, type RelayExamination } from '../../../../mail/deliver/index.ts';
import { nothingSeen, skipped, type Check, type Examination } from '../check.ts';

interface Examined {
  name: string;
  settings: RelaySettings;
  examination: RelayExamination;
}

/** Connects to each relay that mail may use and logs in as a delivery would; sends nothing. */
export const checkRelays: Check = async (examination) => {
  const { config } = examination.world;
  if (config.delivery.capture) return skipped('No mail leaves this machine (delivery.capture)');
  const used = [...usedRelays(config)];
  if (used.length === 0) return skipped('No mail is sent through a relay');
  const examined = await Promise.all(used.map((name) => examineOne(examination, name)));
  const seen = nothingSeen();
  const wrong: Examined[] = [];
  for (const one of examined.filter((each) => each !== undefined)) {
    const { name, settings } = one;
    const { isGood, fault, faults } = one.examination;
    if (isGood) seen.says.push(`The relay ${name} (${settings.host}) ${describeGood(settings)}`);
    else if (fault === undefined)
      seen.unknown.push({
        subject: name,
        says: `whether the relay ${name} allows this server to send: ${faults.join('; ')}`,
      });
    else wrong.push(one);
  }
  const [first] = wrong;
  if (!first) return seen;
  const advice = {
    words: `On the server’s machine, ${wrong.map(adviseOn).join('; ')}. See what the relay replies`,
    command: `rasket relays test ${first.name}`,
  };
  const summary = wrong
    .map(
      ({ name, examination: { faults } }) =>
        `The relay ${name} does not allow this server to send: ${faults.join('; ')}.`,
    )
    .join(' ');
  const subjects = wrong.map(({ name }) => name);
  seen.findings.push(buildFinding('relay_misconfigured', { summary, subjects, advice }));
  return seen;
};

/** Only a relay with a login proves before the first email that it accepts mail. */
const describeGood = ({ user }: RelaySettings): string =>
  user === ''
    ? 'accepts connections, and is used without a login'
    : 'allows this server to send, logged in with its user';

async function examineOne({ world, signal }: Examination, name: string): Promise<Examined | undefined> {
  const settings = world.config.relays[name];
  if (settings === undefined) return undefined;
  const examination = await examineRelay(readRelay(name, settings, world.dataDir), {
    resolver: world.resolver,
    heloName: world.config.instance.host,
    openMs: world.config.doctor.seconds * 1000,
    signal,
  });
  return { name, settings, examination };
}

/** Names the settings that are wrong. */
function adviseOn({ name, settings, examination: { fault } }: Examined): string {
  if (fault !== 'login') return `correct the section [relays.${name}]`;
  if (settings.user === '') return `set the login in relays.${name}.user and relays.${name}.password_file`;
  const secret = (['token_file', 'password_file'] as const).find((field) => settings[field] !== '') ?? 'password';
  return `correct relays.${name}.user or relays.${name}.${secret}`;
}
