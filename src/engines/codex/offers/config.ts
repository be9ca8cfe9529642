import { type Fields, isFields } from "../../../lib/fields.js";
import { maskedConfig } from "../../maskedConfig.js";
import { refusal } from "../refusals.js";
import type { RunningCodex } from "../supervisor.js";
import { fieldsOf, listOf } from "../translate/read.js";

/** The settings in force in a folder as Codex reads them, without those that we start its process with. */
export async function readConfig({ server }: RunningCodex, cwd: string): Promise<Fields> {
  const answer = await server.request("config/read", { cwd, includeLayers: true }).catch((error: unknown) => {
    throw refusal(error, "tell its settings");
  });
  const { config, layers } = fieldsOf(answer);
  const inForce = listOf(layers).map(fieldsOf).filter(isInForce);
  const ours = inForce.filter(isOurs).map(settingsOf);
  const others = inForce.filter((layer) => !isOurs(layer)).map(settingsOf);
  const theirs = ours.reduce((seen, layer) => without(layer, seen, others), fieldsOf(config));
  return maskedConfig(onlySet(theirs));
}

function settingsOf({ config }: Fields): Fields {
  return fieldsOf(config);
}

function isOurs({ name }: Fields): boolean {
  return fieldsOf(name)["type"] === "sessionFlags";
}

/** Those of a folder that is not trusted are read and not used. */
function isInForce({ disabledReason }: Fields): boolean {
  return disabledReason === undefined || disabledReason === null;
}

/** The table with every value of the layer replaced by what the first of the others says; the strongest comes first. */
function without(layer: Fields, table: Fields, others: readonly Fields[]): Fields {
  const cleared = Object.entries(layer).map(([key, value]) => {
    const below = others.map((other) => other[key]);
    return [key, isFields(value) ? without(value, fieldsOf(table[key]), below.map(fieldsOf)) : below.find((said) => said !== undefined)];
  });
  return { ...table, ...Object.fromEntries(cleared) };
}

/** Codex tells every setting there is, most of them as null. */
function onlySet(table: Fields): Fields {
  const set = Object.entries(table).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([key, value]) => [key, isFields(value) ? onlySet(value) : value]));
}
