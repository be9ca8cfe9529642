import { expect, it } from "vitest";
import { addressBytes } from "./addressBytes.js";

it.each([
  ["127.0.0.1", [127, 0, 0, 1]],
  ["::ffff:127.0.0.1", [127, 0, 0, 1]],
  ["::FFFF:7f00:2", [127, 0, 0, 2]],
  ["::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ["2001:db8::a:b%eth0", [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa, 0, 0xb]],
  ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
  ["localhost", undefined],
  ["", undefined],
])("%s is %j", (address, bytes) => {
  expect(addressBytes(address)).toEqual(bytes);
});
