import type { World } from '../../platform/world/index.ts';
import { readReport, type MailReport } from '../../protocol/mail-report/index.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import { settleReport } from '../settle/index.ts';
import type { Arrival } from './inbound-message.ts';
import { routeRecipient, type Route } from './route-recipient.ts';
import type { ReceiveResult } from './receive-result.ts';

type ReturnRoute = Extract<Route, { kind: 'return' }>;

/**
 * Settles a bounce or a complaint that came to our return paths or report addresses. Only the signed return path says which
 * email it is about: anybody can write anything into a report. Calls `onNotice` when settling has queued a delivery notice.
 */
export async function settleReturned(
  world: World,
  arrival: Pick<Arrival, 'routes' | 'mailFrom'>,
  reading: MessageReading,
  onNotice: () => void,
): Promise<ReceiveResult> {
  const { routes, mailFrom } = arrival;
  const returns = routes.filter((route) => route.kind === 'return');
  const isForReports = routes.some((route) => route.kind === 'reports');
  const accepted: ReceiveResult = { kind: 'accepted', id: world.ids.uuid() };
  if (returns.length === 0 && !isForReports) return accepted;
  const report = readReport(reading, mailFrom);
  if (report.kind === 'none') {
    world.log.info(
      { because: report.because, mailFrom, emailIds: returns.map((route) => route.emailId) },
      'came back and changes nothing',
    );
    return returns.length === 0 ? { kind: 'unwanted' } : accepted;
  }
  const settled = new Map<string, ReturnRoute>();
  for (const route of [...returns, ...(isForReports ? await namedIn(world, report) : [])])
    settled.set(`${route.emailId} ${route.prefix}`, route);
  for (const { emailId, prefix } of settled.values()) {
    if (await settleReport(world, { emailId, prefix, report })) onNotice();
  }
  return accepted;
}

/** The return paths of ours that a complaint names as envelope sender: they are signed, so that none can be made up. */
async function namedIn(world: World, report: Exclude<MailReport, { kind: 'none' }>): Promise<ReturnRoute[]> {
  if (report.kind !== 'complaint') return [];
  const routes: ReturnRoute[] = [];
  for (const sender of report.envelopeSenders) {
    const route = await routeRecipient(world, sender);
    if (route.kind === 'return') routes.push(route);
  }
  return routes;
}
