import { readFileSync } from 'node:fs';
import {
  listProfileNames,
  loadProfile,
  ProfileFault,
  readProfile,
  type Profile,
} from '../../src/features/rehearsal/index.ts';
import { startInternet, type Internet } from '../../src/features/rehearsal/start.ts';
import { systemClock, waitFor, type Clock } from '../../src/platform/clock.ts';
import { loadConfig, type Config, type DeepPartial } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { OperatorFault } from '../explain.ts';
import { startAppliance, type Appliance } from '../simulate/appliance.ts';
import { sendCampaign, type Campaign } from '../simulate/campaign.ts';
import { createRehearsalClock } from '../simulate/rehearsal-clock.ts';
import {
  countOutcomes,
  countSuppressions,
  formatDuration,
  formatProviders,
  formatReport,
  listWaiting,
  measureDelay,
  readQueue,
  tallyProviders,
  type Report,
} from '../simulate/report.ts';
import { listenForStop } from './serve.ts';

export interface SimulateOptions {
  messages: number;
  speed: number;
  minutes: number;
  port?: number;
  listen?: boolean;
  config?: string;
  json?: boolean;
  version: string;
}

export async function simulate(name: string | undefined, options: SimulateOptions): Promise<void> {
  if (name === undefined) return listProfiles(options);
  const profile = findProfile(name);
  if (options.listen) return listen(profile, options);
  const report = await rehearse(profile, options);
  console.log(options.json ? JSON.stringify(report) : `\n${formatReport(report)}`);
}

function listProfiles({ json }: SimulateOptions): void {
  const profiles = listProfileNames().map((name) => ({ name, summary: loadProfile(name).summary }));
  if (json) return console.log(JSON.stringify(profiles));
  const width = Math.max(...profiles.map(({ name }) => name.length));
  for (const { name, summary } of profiles) console.log(`${name.padEnd(width)}  ${summary}`);
  console.log('\nStart one with: rasket simulate realistic');
}

/** Finds a profile by its name, or reads a file of the caller's own. */
function findProfile(name: string): Profile {
  try {
    return /[./]/.test(name) ? readProfile(name, readFileSync(name, 'utf8')) : loadProfile(name);
  } catch (error) {
    if (error instanceof ProfileFault) throw new OperatorFault(error.message, 'usage');
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new OperatorFault(`there is no file ${name}`, 'usage');
    throw error;
  }
}

/** Starts the internet alone, for a development server. */
async function listen(profile: Profile, { port, json }: SimulateOptions): Promise<void> {
  const stop = listenForStop(createLog({ level: 'silent', format: 'json' }));
  await using internet = await start(profile, systemClock, port);
  const settings = [
    ['RASKET_DNS_SERVERS', internet.dns.server],
    ['RASKET_DELIVERY_SMTP_PORT', String(internet.smtpPort)],
    ['RASKET_NETWORK_MAIL_ALLOW_PRIVATE', '127.0.0.0/8'],
  ] as const;
  if (json)
    console.log(JSON.stringify({ settings: Object.fromEntries(settings), recipients: internet.recipients(10) }));
  else {
    console.log(
      `The internet of the rehearsal ${profile.name} listens on this machine only. Start your own server with`,
    );
    console.log(`these settings, on a data folder without real mail:\n`);
    for (const [key, value] of settings) console.log(`  ${key}=${value}`);
    console.log(`\nRecipients: ${internet.recipients(5).join(', ')} and so on.`);
    console.log('Ctrl-C stops it and shows what the receivers saw.');
  }
  const keepUp = setInterval(() => undefined, 2 ** 30);
  await stop.asked;
  clearInterval(keepUp);
  const seen = tallyProviders(internet, []).filter(({ connections }) => connections > 0);
  if (json) console.log(JSON.stringify({ providers: seen }));
  else console.log(`\n${formatProviders(seen)}`);
}

async function start(profile: Profile, clock: Clock, port?: number): Promise<Internet> {
  try {
    return await startInternet({
      profile,
      clock,
      random: Math.random,
      ...(port === undefined ? {} : { smtpPort: port }),
    });
  } catch (error) {
    const { code, address } = error as NodeJS.ErrnoException & { address?: string };
    if (code !== 'EADDRNOTAVAIL') throw error;
    throw new OperatorFault(
      `${address} cannot be used on this machine; a rehearsal needs all of 127.0.0.0/8, as on Linux`,
    );
  }
}

/** The time between two lines of progress, and between two checks whether all mail has ended. */
const SHOW_MS = 5000;
const CHECK_MS = 250;
/** The speed while everything waits for its next attempt; never if the rehearsal is in real time. */
const IDLE_SPEED = 100;

async function rehearse(profile: Profile, options: SimulateOptions): Promise<Report> {
  const { messages, speed, minutes, json, version } = options;
  const clock = createRehearsalClock(speed);
  const stop = listenForStop(createLog({ level: 'silent', format: 'json' }));
  let isStopped = false;
  void stop.asked.then(() => (isStopped = true));
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  await using internet = await start(profile, clock, options.port);
  await using appliance = await startAppliance({ internet, clock, version, delivery: readDelivery(options.config) });
  const recipients = internet.recipients(messages);
  say(
    `Rehearsing ${profile.name}: ${messages} emails${speed === 1 ? '' : `, at ${speed} times the speed`}. Ctrl-C ends it with a report.`,
  );
  const begun = { at: clock.now(), real: systemClock.steady() };
  const campaign = await sendCampaign(appliance, recipients, clock);
  const all = (): string[] => [...recipients, ...campaign.sentAt.keys()];
  const elapsed = (): number => (clock.now() - begun.at) / 1000;
  let shownAt = systemClock.steady();
  let held: string | undefined;
  let isComplete = false;
  while (!isComplete && !isStopped && elapsed() < minutes * 60) {
    await Promise.race([waitFor(CHECK_MS), stop.asked]);
    const state = await check(appliance, internet, campaign, clock.now() + (minutes * 60 - elapsed()) * 1000);
    ({ held, isComplete } = state);
    if (speed > 1) clock.setSpeed(state.isIdle ? Math.max(speed, IDLE_SPEED) : speed);
    if (isComplete || systemClock.steady() - shownAt < SHOW_MS) continue;
    shownAt = systemClock.steady();
    say(`\nAfter ${formatDuration(elapsed())}:\n${formatProviders(tallyProviders(internet, all()))}`);
  }
  await campaign.stop();
  const providers = tallyProviders(internet, all());
  const outcomes = await countOutcomes(appliance, internet, providers);
  return {
    profile: profile.name,
    messages,
    transactional: campaign.sentAt.size,
    speed,
    simulated_seconds: Math.round(elapsed()),
    real_seconds: Math.round((systemClock.steady() - begun.real) / 1000),
    is_complete: isComplete && held === undefined,
    held: held ?? null,
    outcomes,
    transactional_delay_seconds: measureDelay(internet, campaign.sentAt),
    providers,
    suppressed: await countSuppressions(appliance),
    waiting: listWaiting(await readQueue(appliance)),
    duplicates: internet.seen.duplicates().length,
    reports_to_come: internet.seen.reports.filter(({ state }) => state === 'waiting').length,
  };
}

interface State {
  isComplete: boolean;
  /** Nothing is on its way: all mail that is left waits for a time. */
  isIdle: boolean;
  /** Why the broadcast is on hold. */
  held: string | undefined;
}

/** Checks whether all mail has ended, or is on hold, and every report that comes within the time has come. */
async function check(appliance: Appliance, { seen }: Internet, campaign: Campaign, endsAt: number): Promise<State> {
  const { isSent, held } = await campaign.status();
  if (!isSent) return { isComplete: false, isIdle: false, held };
  const { states } = await readQueue(appliance);
  const count = (...names: string[]): number => names.reduce((sum, name) => sum + (states[name] ?? 0), 0);
  const isReportDue = seen.reports.some(({ state, dueAt }) => state === 'waiting' && dueAt < endsAt);
  const isIdle = count('waiting', 'under_way') === 0 && seen.countOpen() === 0;
  const isEnded = isIdle && count('scheduled', 'retrying', 'awaits_domain') === 0;
  return { isComplete: isEnded && !isReportDue, isIdle, held };
}

/** Settings of [delivery] that a rehearsal tries; where mail goes is never taken from a file. */
function readDelivery(file: string | undefined): DeepPartial<Config['delivery']> {
  if (file === undefined) return {};
  const { config } = loadConfig({ env: {}, file });
  const { smtp_port: _port, relay: _relay, fallback_relay: _fallback, capture: _capture, ...others } = config.delivery;
  return others as DeepPartial<Config['delivery']>;
}
