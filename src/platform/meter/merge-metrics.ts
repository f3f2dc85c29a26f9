/** The metrics of one process, in the text format of Prometheus. */
export interface ProcessMetrics {
  process: number;
  text: string;
}

interface Family {
  comments: string[];
  samples: string[];
}

/**
 * Merges the metrics of several processes into one text, in which each sample has a label `process`. The samples of one
 * metric stay together, as the format requires.
 */
export function mergeMetrics(all: readonly ProcessMetrics[]): string {
  const families = new Map<string, Family>();
  for (const { process, text } of all) {
    let family: Family = { comments: [], samples: [] };
    for (const line of text.split('\n')) {
      const comment = /^# (?:HELP|TYPE) (\S+)/.exec(line);
      if (comment) {
        family = families.get(comment[1] ?? '') ?? { comments: [], samples: [] };
        families.set(comment[1] ?? '', family);
        // Every process has the same comments; those of a process that is newer than the others may differ.
        if (family.samples.length === 0 && !family.comments.includes(line)) family.comments.push(line);
      } else if (line !== '' && !line.startsWith('#')) {
        family.samples.push(addLabel(line, process));
      }
    }
  }
  const lines = [...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples, '']);
  return lines.join('\n');
}

/** Adds the label behind the name, because values of other labels may contain braces. */
function addLabel(sample: string, process: number): string {
  const end = sample.search(/[{ ]/);
  const label = `process="${process}"`;
  if (sample[end] !== '{') return `${sample.slice(0, end)}{${label}}${sample.slice(end)}`;
  const separator = sample[end + 1] === '}' ? '' : ',';
  return `${sample.slice(0, end + 1)}${label}${separator}${sample.slice(end + 1)}`;
}
