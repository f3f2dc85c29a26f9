import type { Reply } from '../smtp-reply/index.ts';
import type { ReportedRecipient } from './report.ts';

/** Reads the reply that a report quotes, as if it had come over the connection; without a reply code, by the status. */
export function readReportedReply({ status, diagnostic }: Pick<ReportedRecipient, 'status' | 'diagnostic'>): Reply {
  const said = /\b([45]\d\d)[ -](?:#?([45]\.\d{1,3}\.\d{1,3})\b)?/.exec(diagnostic);
  const enhanced = status !== undefined && !/^[45]\.0\.0$/.test(status) ? status : said?.[2];
  const code = Number(said?.[1] ?? (enhanced?.startsWith('4') || status?.startsWith('4') ? 450 : 500));
  const isTransient = status?.startsWith('4') === true || code < 500;
  return {
    code: isTransient ? 450 : code,
    lines: [diagnostic.replace(/^[\w-]{1,40};\s*/, '')],
    ...(enhanced === undefined ? {} : { enhanced }),
  };
}
