"""Messages as zigbee2mqtt, Tasmota, Homie 5, Home Assistant and ChirpStack publish them.

After these documents:

Zigbee2MQTT, "MQTT Topics and Messages": JSON at zigbee2mqtt/FRIENDLY_NAME; `last_seen` where it is
switched on. Tasmota: JSON at tele/TOPIC/SENSOR and tele/TOPIC/STATE every teleperiod, with a local
`Time`. Homie 5: plain payloads at homie/5/DEVICE/NODE/PROPERTY, attributes begin with $. Home
Assistant, "MQTT Statestream": the state as a plain text at BASE_TOPIC/DOMAIN/ENTITY/state,
attributes as JSON beside it. ChirpStack v4, "MQTT" integration: JSON at
application/ID/device/DEV_EUI/event/up, the decoded payload in `object`.
"""

ZIGBEE2MQTT = [
    ("zigbee2mqtt/bridge/state", b'{"state":"online"}'),
    ("zigbee2mqtt/bridge/info", b'{"version":"2.1.0","permit_join":false}'),
    ("zigbee2mqtt/kitchen", (b'{"humidity":44.72,"linkquality":105,"temperature":27.34,'
     b'"last_seen":"2024-03-01T15:32:45+01:00"}')),
    ("zigbee2mqtt/0x00158d0001dc126a", (b'{"temperature":21.5,"humidity":40.1,"last_seen":'
     b'1709303565000}')),
    ("zigbee2mqtt/wall plug", (b'{"current":0.1,"energy":3.61,"linkquality":120,"power":16,'
     b'"state":"ON","voltage":231}')),
    ("zigbee2mqtt/hallway", b'{"occupancy":true,"temperature":null,"humidity":51.0}'),
    ("zigbee2mqtt/kitchen/availability", b'{"state":"online"}'),
    ("zigbee2mqtt/kitchen/set", b'{"state":"ON"}'),
    ("zigbee2mqtt/button", b'{"action":"single"}'),
]  # fmt: skip
TASMOTA = [
    ("tele/th16/LWT", b"Online"),
    ("tele/th16/STATE", (b'{"Time":"2018-03-02T18:25:02","Uptime":"0T00:00:19","Vcc":3.151,'
     b'"POWER":"OFF","Wifi":{"AP":1,"SSId":"home","RSSI":66}}')),
    ("tele/th16/SENSOR", (b'{"Time":"2018-03-02T18:25:03","AM2301":{"Temperature":22.6,'
     b'"Humidity":32.4},"TempUnit":"C"}')),
    ("tele/pow/SENSOR", (b'{"Time":"2021-06-13T06:59:52","ENERGY":{"TotalStartTime":'
     b'"2021-01-01T00:00:00","Total":3.185,"Yesterday":3.058,"Today":0.127,"Period":0,"Power":201,'
     b'"Voltage":230,"Current":0.87},"AM2301":{"Temperature":null,"Humidity":null}}')),
    ("stat/th16/RESULT", b'{"POWER":"OFF"}'),
]  # fmt: skip
HOMIE5 = [
    ("homie/5/super-car/$state", b"ready"),
    ("homie/5/super-car/$description", (b'{"homie":"5.0","name":"Super car","nodes":{"engine":'
     b'{"name":"Car engine","properties":{"temperature":{"datatype":"float","unit":"K"}}}}}')),
    ("homie/5/super-car/engine/temperature", b"21.5"),
    ("homie/5/super-car/engine/speed", b"-3"),
    ("homie/5/super-car/engine/temperature/set", b"30"),
    ("homie/5/super-car/engine/temperature/$target", b"30"),
    ("homie/5/bike/engine/temperature", b"1.25E+1"),
    ("homie/5/bike/engine/speed", b"true"),
    ("homie/5/boat/engine/speed", b""),
    ("homie/5/boat/engine/temperature", b"NaN"),
]  # fmt: skip
STATESTREAM = [
    ("homeassistant/sensor/kitchen_temperature/state", b"21.5"),
    ("homeassistant/sensor/kitchen_temperature/unit_of_measurement", b'"\xc2\xb0C"'),
    ("homeassistant/sensor/kitchen_humidity/state", b"44"),
    ("homeassistant/sensor/living_room_temperature/state", b"unavailable"),
    ("homeassistant/switch/kitchen_temperature/state", b"on"),
]
CHIRPSTACK = [
    ("application/1/device/0102030405060708/event/up", (b'{"deduplicationId":"3ac7e3c4",'
     b'"time":"2022-07-18T09:34:15.775023242+00:00","deviceInfo":{"devEui":"0102030405060708"},'
     b'"fCnt":0,"fPort":1,"data":"qg==","object":{"temperature":22.5,"humidity":"48"}}')),
    ("application/1/device/0102030405060708/event/join", b'{"devAddr":"00189440"}'),
]  # fmt: skip
