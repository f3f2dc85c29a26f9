/**
 * Makes a text of a received report safe to store and to show: one line, without invisible characters, at most
 * `charsMax` long. It is a copy, because a substring would keep the whole report in memory.
 */
export function cleanReportText(text: string, charsMax: number): string {
  const line = text
    .slice(0, charsMax * 2)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  // Encoding also replaces half of a surrogate pair, which a database would refuse.
  return Buffer.from(line.slice(0, charsMax)).toString();
}
