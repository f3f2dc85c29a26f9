import type { World } from '../../../platform/world/index.ts';
import { readReport, type MailReport } from '../../../protocol/mail-report/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import { settleReport } from '../settle/index.ts';
import type { Arrival } from './inbound-message.ts';
import { routeRecipient, type Route } from './route-recipient.ts';
import type { Verdict } from './verdict.ts';

type ReturnRoute = Extract<Route, { kind: 'return' }>;

/**
 * What came back to our return paths and to where complaints are reported. Whose it is, the return path alone says: what is
 * written in a report can be written by anybody. `onNotice` is told when somebody who had asked for it is to hear of it.
 */
export async function takeReturned(
  world: World,
  arrival: Arrival,
  reading: MessageReading,
  onNotice: () => void,
): Promise<Verdict> {
  const { routes, mailFrom } = arrival;
  const returns = routes.filter((route) => route.kind === 'return');
  const isForReports = routes.some((route) => route.kind === 'reports');
  const taken: Verdict = { kind: 'taken', id: world.ids.uuid() };
  if (returns.length === 0 && !isForReports) return taken;
  const report = readReport(reading, mailFrom);
  if (report.kind === 'none') {
    world.log.info(
      { because: report.because, mailFrom, emailIds: returns.map((route) => route.emailId) },
      'came back and changes nothing',
    );
    return returns.length === 0 ? { kind: 'unwanted' } : taken;
  }
  const about = new Map<string, ReturnRoute>();
  for (const route of [...returns, ...(isForReports ? await namedIn(world, report) : [])])
    about.set(`${route.emailId} ${route.prefix}`, route);
  for (const { emailId, prefix } of about.values()) {
    if (await settleReport(world, { emailId, prefix, report })) onNotice();
  }
  return taken;
}

/** The return paths of ours that a complaint gives as the envelope sender: they are signed, so that nobody can make one up. */
async function namedIn(world: World, report: Exclude<MailReport, { kind: 'none' }>): Promise<ReturnRoute[]> {
  if (report.kind !== 'complaint') return [];
  const routes: ReturnRoute[] = [];
  for (const sender of report.envelopeSenders) {
    const route = await routeRecipient(world, sender);
    if (route.kind === 'return') routes.push(route);
  }
  return routes;
}
