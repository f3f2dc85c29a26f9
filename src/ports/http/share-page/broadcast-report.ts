import type { PageBroadcast, Period } from '../../../features/sharing/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';

export const REPORT_STYLE = `.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:0 0 .25rem}
th,td{text-align:right;white-space:nowrap;overflow-wrap:normal;padding:.25rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{color:var(--quiet);font-weight:400}tbody th{font-weight:400;min-width:7rem;max-width:24rem;white-space:normal;overflow-wrap:anywhere}
.bar{width:35%;min-width:4rem;vertical-align:middle}
svg{display:block;width:100%}.bar svg{height:.75rem}.columns svg{height:5rem;border-bottom:1px solid var(--edge)}
rect{fill:var(--accent)}.columns{margin:0 0 1rem}.columns figcaption{display:flex;justify-content:space-between;gap:1rem;color:var(--quiet);font-size:.875rem}
`;

interface Reported {
  broadcast: PageBroadcast['broadcast'];
  report: NonNullable<PageBroadcast['report']>;
  /** The addresses that the shown email links to. */
  links: readonly string[];
}

/** Renders the results of a broadcast. Each chart is drawn here and has its numbers in a table. */
export const renderReport = (reported: Reported): string =>
  `<section aria-labelledby="report"><h2 id="report">Report</h2>${[
    renderOutcomes(reported),
    renderPeriods(reported),
    renderClicks(reported),
    renderProviders(reported),
  ].join('')}</section>`;

/** Formats a share of a whole, which is empty if there is no whole. */
const formatShare = (part: number, whole: number): string =>
  whole === 0 ? '' : `${Math.round((part / whole) * 1000) / 10} %`;

/** Draws a bar whose number is next to it. */
function drawBar(value: number, most: number): string {
  const width = most === 0 ? 0 : Math.min(100, Math.round((value / most) * 1000) / 10);
  return `<td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="10"/></svg></td>`;
}

interface Table {
  caption: string;
  columns: readonly string[];
  rows: readonly string[];
}

const renderTable = ({ caption, columns, rows }: Table): string =>
  `<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(caption)}"><table><caption>${escapeHtml(caption)}</caption><thead><tr>${columns.map((name) => (name === '' ? '<td></td>' : `<th scope="col">${name}</th>`)).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;

/** Returns the outcomes that were not measured, because the domain did not track them when the mail was accepted. */
const listUnmeasured = ({ opens_measured: opens, clicks_measured: clicks }: Reported['broadcast']): Set<string> =>
  new Set([...(opens === false ? ['Opened'] : []), ...(clicks === false ? ['Clicked'] : [])]);

const NOT_MEASURED = 'not measured';

function renderOutcomes({ broadcast }: Reported): string {
  const { counts } = broadcast;
  const { sent, delivered } = counts;
  const unmeasured = listUnmeasured(broadcast);
  const outcomes: [string, number, number][] = [
    ['Sent', sent, sent],
    ['Delivered', delivered, sent],
    ['Opened', counts.opened, delivered],
    ['Clicked', counts.clicked, delivered],
    ['Bounced', counts.bounced, sent],
    ['Reported as spam', counts.complained, delivered],
    ['Unsubscribed', counts.unsubscribed, delivered],
    ['Suppressed', counts.suppressed, 0],
  ];
  const rows = outcomes.map(([name, count, whole]) =>
    unmeasured.has(name)
      ? `<tr><th scope="row">${name}</th><td class="bar"></td><td colspan="2">${NOT_MEASURED}</td></tr>`
      : `<tr><th scope="row">${name}</th>${drawBar(count, sent)}<td>${count}</td><td>${formatShare(count, whole)}</td></tr>`,
  );
  return `${renderTable({ caption: 'Recipients by outcome', columns: ['Outcome', '', 'Recipients', 'Share'], rows })}
<p class="quiet">Each recipient counts once. Sent, delivered and bounced are shares of what was sent, the others of what was delivered.</p>`;
}

const SERIES = { delivered: 'Delivered', opened: 'Opened', clicked: 'Clicked' } as const;

function renderPeriods({ broadcast, report: { periods, isHourly } }: Reported): string {
  const unmeasured = listUnmeasured(broadcast);
  const until = periods.findLastIndex((one) => one.delivered + one.opened + one.clicked > 0);
  const shown = periods.slice(0, until + 1);
  if (shown.length === 0) return '';
  const span = isHourly ? 'hour' : 'day';
  const charts = (Object.keys(SERIES) as (keyof typeof SERIES)[])
    .filter((name) => !unmeasured.has(SERIES[name]))
    .map((name) => drawColumns(name, shown, span));
  const rows = shown.map(
    (one) =>
      `<tr><th scope="row">${formatPeriod(one.name)}</th><td>${one.delivered}</td>${measuredCells(one, unmeasured)}</tr>`,
  );
  const table = renderTable({
    caption: `Recipients by ${span} (UTC)`,
    columns: [isHourly ? 'Hour' : 'Day', 'Delivered', 'Opened', 'Clicked'],
    rows,
  });
  return `<h3>Over time</h3>${charts.join('')}<details><summary>Numbers by ${span}</summary>${table}</details>`;
}

const measuredCells = ({ opened, clicked }: { opened: number; clicked: number }, unmeasured: Set<string>): string =>
  `<td>${unmeasured.has('Opened') ? NOT_MEASURED : opened}</td><td>${unmeasured.has('Clicked') ? NOT_MEASURED : clicked}</td>`;

function drawColumns(name: keyof typeof SERIES, periods: readonly Period[], span: string): string {
  const most = Math.max(...periods.map((one) => one[name]));
  const peak = periods.find((one) => one[name] === most);
  const label = `${SERIES[name]} by ${span}, most with ${most} at ${formatPeriod(peak?.name ?? '')}`;
  const bars = periods.map((one, at) => {
    const height = most === 0 ? 0 : Math.round((one[name] / most) * 1000) / 10;
    return height === 0 ? '' : `<rect x="${at + 0.1}" y="${100 - height}" width="0.8" height="${height}"/>`;
  });
  return `<figure class="columns"><svg role="img" aria-label="${escapeHtml(label)}" viewBox="0 0 ${periods.length} 100" preserveAspectRatio="none">${bars.join('')}</svg>
<figcaption><span>${SERIES[name]}, at most ${most}</span><span>${formatPeriod(periods[0]?.name ?? '')} to ${formatPeriod(periods.at(-1)?.name ?? '')}</span></figcaption></figure>`;
}

/** Formats the name of a period, which is a date, or a date and an hour with its offset. */
const formatPeriod = (name: string): string => escapeHtml(name.slice(0, 16).replace('T', ' '));

/**
 * Lists the clicked links that the shown email contains. All others are one line, because a link with values of a
 * recipient would name them.
 */
function renderClicks({ report: { links: clicked }, links }: Reported): string {
  if (clicked.length === 0) return '';
  const known = new Set(links);
  const own = clicked.filter(({ url }) => known.has(url));
  const others = clicked.filter(({ url }) => !known.has(url));
  const most = Math.max(...own.map((one) => one.unique_clicks), 0);
  const rows = own.map(
    (one) =>
      `<tr><th scope="row">${bdi(one.url)}</th>${drawBar(one.unique_clicks, most)}<td>${one.unique_clicks}</td><td>${one.clicks}</td></tr>`,
  );
  const sum = others.reduce((clicks, one) => clicks + one.clicks, 0);
  if (others.length > 0) {
    rows.push(`<tr><th scope="row">Links with values of a recipient</th><td></td><td></td><td>${sum}</td></tr>`);
  }
  return `<h3>Clicks</h3>${renderTable({ caption: 'Clicks by link', columns: ['Link', '', 'Recipients', 'Clicks'], rows })}`;
}

function renderProviders({ broadcast, report: { providers } }: Reported): string {
  const unmeasured = listUnmeasured(broadcast);
  if (providers === null) return '<p class="quiet">The list of recipients was removed by age.</p>';
  if (providers.length === 0) return '';
  const most = Math.max(...providers.map((one) => one.recipients));
  const rows = providers.map(
    (one) =>
      `<tr><th scope="row">${bdi(one.name ?? 'Others')}</th>${drawBar(one.recipients, most)}<td>${one.recipients}</td><td>${one.delivered}</td>${measuredCells(one, unmeasured)}<td>${one.bounced}</td><td>${one.complained}</td></tr>`,
  );
  const columns = ['Provider', '', 'Recipients', 'Delivered', 'Opened', 'Clicked', 'Bounced', 'Spam'];
  return `<h3>Mailbox providers</h3>${renderTable({ caption: 'Outcomes by mailbox provider', columns, rows })}`;
}
