export interface Section {
  /** Such as `0.1.0`; changes that are in no release yet have none. */
  version: string | undefined;
  /** The day of the release, such as `2026-11-29`. */
  date: string | undefined;
  /** Markdown without the heading. */
  text: string;
}

const HEADING = /^## (?:\[?(\d+\.\d+\.\d+)\]?(?: - (\d{4}-\d{2}-\d{2}))?|.*)$/;

/** Splits CHANGELOG.md into its sections, the newest first, as they stand there. */
export function readSections(changelog: string): Section[] {
  const sections: Section[] = [];
  let lines: string[] = [];
  const end = (): void => {
    const last = sections.at(-1);
    if (last) last.text = lines.join('\n').trim();
    lines = [];
  };
  for (const line of changelog.split('\n')) {
    const heading = HEADING.exec(line);
    if (heading) {
      end();
      sections.push({ version: heading[1], date: heading[2], text: '' });
    } else lines.push(line);
  }
  end();
  return sections;
}

/** Compares the numbers of two versions, whatever commits they name; negative if the first is older. */
export function compareVersions(one: string, other: string): number {
  const numbers = (version: string): number[] => version.split(/[-+]/)[0]?.split('.').map(Number) ?? [];
  const ours = numbers(one);
  const theirs = numbers(other);
  for (const [place, number] of ours.entries()) {
    const difference = number - (theirs[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
